//! `Parameters`.

use crate::attributes::{arguments, dotted, fields, meaning, prefix};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, Expr, Field, LitStr, Result, Type};

/// What a field's attribute says.
#[derive(Default)]
struct Row {
    default: Option<LitStr>,
    source: Option<LitStr>,
    name: Option<String>,
    acts: Option<LitStr>,
    min: Option<Expr>,
    max: Option<Expr>,
    multiple_of: Option<Expr>,
    range: Option<Expr>,
    power_of_two: bool,
    bytes: bool,
    thousandths: bool,
}

const KNOWN: &str = "default, source, name, acts, min, max, multiple_of, power_of_two, bytes, thousandths, range, and flatten alone";

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let prefix = prefix(input, "parameters")?;
    let (mut parts, mut rows, mut values, mut checks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for field in fields(input)? {
        let (ident, ty) = (&field.ident, &field.ty);
        if arguments(&field.attrs, "param")?.iter().any(|a| a.name == "flatten") {
            let own = std::mem::take(&mut rows);
            parts.push(quote!(&[#(#own),*]));
            parts.push(quote!(<#ty as ::params::Parameters>::TABLE));
            values.push(quote!(#ident: <#ty as ::params::Parameters>::from_settings(settings)));
            continue;
        }
        let row = Row::read(field)?;
        let (ident, key) = dotted(&prefix, field, row.name.as_deref())?;
        let meaning = meaning(&field.attrs)
            .ok_or_else(|| Error::new_spanned(&ident, "its meaning is missing: give a doc comment"))?;
        let missing = |what| Error::new_spanned(&ident, format!("#[param({what} = \"...\")] is missing"));
        let default = row.default.as_ref().ok_or_else(|| missing("default"))?;
        let source = row.source.as_ref().ok_or_else(|| missing("source"))?;
        let (kind, check) = row.kind(field)?;
        let acts = row.acts.as_ref().map_or_else(String::new, LitStr::value);
        rows.push(quote!(::params::Param {
            key: #key, kind: #kind, default: #default, source: #source, meaning: #meaning, acts: #acts,
        }));
        values.push(quote!(#ident: settings.read(#key)));
        let refused = format!("{key}: its default {} is not accepted by its own kind", default.value());
        checks.push(quote! {
            #check
            const _: () = assert!(::params::fits(&#kind, #default), #refused);
        });
    }
    parts.push(quote!(&[#(#rows),*]));
    let name = &input.ident;
    Ok(quote! {
        #(#checks)*
        impl ::params::Parameters for #name {
            const TABLE: &'static [::params::Param] = {
                const PARTS: &[&[::params::Param]] = &[#(#parts),*];
                &::params::join::<_, { ::params::rows(PARTS) }>(PARTS)
            };

            fn from_settings(settings: &::params::Settings) -> Self {
                Self { #(#values),* }
            }
        }
    })
}

impl Row {
    fn read(field: &Field) -> Result<Row> {
        let mut row = Row::default();
        for argument in arguments(&field.attrs, "param")? {
            match argument.name.to_string().as_str() {
                "default" => row.default = Some(argument.text()?),
                "source" => row.source = Some(argument.text()?),
                "name" => row.name = Some(argument.text()?.value()),
                "acts" => row.acts = Some(argument.text()?),
                "min" => row.min = Some(argument.value()?),
                "max" => row.max = Some(argument.value()?),
                "multiple_of" => row.multiple_of = Some(argument.value()?),
                "range" => row.range = Some(argument.value()?),
                "power_of_two" => row.power_of_two = true,
                "bytes" => row.bytes = true,
                "thousandths" => row.thousandths = true,
                _ => return Err(argument.unknown(KNOWN)),
            }
        }
        Ok(row)
    }

    /// The kind, and what has to hold for the field's type to keep it.
    fn kind(&self, field: &Field) -> Result<(TokenStream, TokenStream)> {
        let ty = &field.ty;
        if let Some(range) = &self.range {
            let kind = quote!(::params::Kind::nanoseconds(#range));
            return Ok((kind, same(ty, &quote!(::params::Dur))));
        }
        let least = match (&self.min, &self.max, &self.multiple_of) {
            (Some(min), Some(max), None) => (quote!(#min), max),
            (None, Some(max), Some(of)) => (quote!(#of), max),
            (None, None, None) => {
                let wanted = "one of these arguments is missing: min and max, multiple_of and max, range";
                let flagged = self.power_of_two || self.bytes || self.thousandths;
                if flagged {
                    return Err(Error::new_spanned(field, wanted));
                }
                return Ok((quote!(<#ty as ::params::Plain>::KIND), TokenStream::new()));
            }
            _ => return Err(Error::new_spanned(field, "give min and max, or multiple_of and max, or range")),
        };
        let (min, max) = least;
        let kind = match (self.power_of_two, self.bytes, self.thousandths, &self.multiple_of) {
            (false, false, false, None) => quote!(::params::Kind::Count { min: #min, max: #max }),
            (true, false, false, None) => quote!(::params::Kind::PowerOfTwo { min: #min, max: #max }),
            (false, true, false, None) => quote!(::params::Kind::Bytes { min: #min, max: #max }),
            (false, false, true, None) => quote!(::params::Kind::Thousandths { min: #min, max: #max }),
            (false, false, false, Some(of)) => quote!(::params::Kind::Multiple { of: #of, max: #max }),
            _ => {
                let text = "one at most of power_of_two, bytes, thousandths and multiple_of";
                return Err(Error::new_spanned(field, text));
            }
        };
        let holds = quote! {
            const _: () = assert!(#max <= <#ty as ::params::Whole>::MOST, "its type is too small for its range");
        };
        Ok((kind, holds))
    }
}

/// Does not compile where the two types differ.
fn same(ty: &Type, wanted: &TokenStream) -> TokenStream {
    quote!(const _: fn(#ty) -> #wanted = |value| value;)
}
