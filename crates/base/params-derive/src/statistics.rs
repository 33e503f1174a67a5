//! `Statistics`.

use crate::attributes::{arguments, dotted, fields, meaning, prefix_and};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, Field, GenericArgument, LitStr, PathArguments, Result, Type};

/// What a field's attribute says.
#[derive(Default)]
struct Row {
    name: Option<String>,
    unit: Option<LitStr>,
    most: Option<LitStr>,
    column: String,
    explains: String,
    unreported: bool,
    skip: bool,
    unless_zero: bool,
    /// Of the whole struct, or of a part that a machine may lack.
    sometimes: bool,
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let (prefix, sometimes) = prefix_and(input, "statistics", Some("sometimes"))?;
    let (mut rows, mut hands, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for field in fields(input)? {
        let sometimes = sometimes || inside(&field.ty, "Option").is_some();
        let row = Row { sometimes, ..Row::read(field)? };
        if row.skip {
            continue;
        }
        // A name that starts with a dot is the whole name: a struct may count for two folders.
        let own = row.name.as_deref();
        let (ident, name) = match own.and_then(|name| name.strip_prefix('.')) {
            Some(whole) => dotted("", field, Some(whole))?,
            None => dotted(&prefix, field, own)?,
        };
        let meaning = meaning(&field.attrs)
            .ok_or_else(|| Error::new_spanned(&ident, "its meaning is missing: give a doc comment"))?;
        let (own_rows, hand) = row.rows(field, &name, &meaning)?;
        rows.extend(own_rows);
        hands.push(if row.unless_zero {
            quote!(if self.#ident != ::core::default::Default::default() { #hand })
        } else {
            hand
        });
        if is(&field.ty, "f64") {
            numbers.push(quote!(each(#name, self.#ident);));
        } else if inside(&field.ty, "Option").is_some_and(|ty| is(ty, "f64")) {
            numbers.push(quote!(if let Some(number) = self.#ident { each(#name, number); }));
        }
    }
    let table = &input.ident;
    let plain = numbers.is_empty();
    let hand_up = quote! {
        impl #table {
            /// Hands up what was counted.
            pub(crate) fn hand_up(&self, sink: &mut dyn ::params::StatSink) {
                #(#hands)*
            }
        }
    };
    let each = quote! {
        impl #table {
            /// Every name with its value.
            pub(crate) fn each(&self, each: &mut dyn FnMut(&'static str, f64)) {
                #(#numbers)*
            }
        }
    };
    let handing = if plain { hand_up } else { each };
    Ok(quote! {
        impl ::params::Statistics for #table {
            const TABLE: &'static [::params::StatisticInfo] = &[#(#rows),*];
        }

        #handing
    })
}

impl Row {
    fn read(field: &Field) -> Result<Row> {
        let mut row = Row::default();
        for argument in arguments(&field.attrs, "stat")? {
            match argument.name.to_string().as_str() {
                "name" => row.name = Some(argument.text()?.value()),
                "unit" => row.unit = Some(argument.text()?),
                "most" => row.most = Some(argument.text()?),
                "column" => row.column = argument.text()?.value(),
                "explains" => row.explains = argument.text()?.value(),
                "unreported" => row.unreported = true,
                "skip" => row.skip = true,
                "unless_zero" => row.unless_zero = true,
                _ => {
                    return Err(
                        argument.unknown("name, unit, most, column, explains, skip, unless_zero, unreported")
                    );
                }
            }
        }
        Ok(row)
    }

    /// The rows of the table, and how the value is handed up.
    fn rows(&self, field: &Field, name: &str, meaning: &str) -> Result<(Vec<TokenStream>, TokenStream)> {
        let ident = &field.ident;
        let Some(ty) = inside(&field.ty, "Option") else {
            return self.rows_of(&field.ty, &quote!(&self.#ident), name, meaning);
        };
        let (rows, hand) = self.rows_of(ty, &quote!(counted), name, meaning)?;
        Ok((rows, quote!(if let Some(counted) = &self.#ident { #hand })))
    }

    /// The same of a type, and of an expression that refers to its value.
    fn rows_of(
        &self,
        ty: &Type,
        value: &TokenStream,
        name: &str,
        meaning: &str,
    ) -> Result<(Vec<TokenStream>, TokenStream)> {
        let unit = |usual: &str| self.unit.as_ref().map_or_else(|| usual.to_string(), LitStr::value);
        if is(ty, "u64") {
            let hand = quote!(::params::StatSink::count(sink, #name, *#value););
            return Ok((vec![self.one(name, &unit("1"), meaning, true)], hand));
        }
        if is(ty, "Dur") {
            let hand = quote!(::params::StatSink::time(sink, #name, *#value););
            return Ok((vec![self.one(name, &unit("ns"), meaning, true)], hand));
        }
        if is(ty, "f64") {
            return Ok((vec![self.one(name, &unit("1"), meaning, true)], TokenStream::new()));
        }
        if is(ty, "Occupancy") {
            let most = self.most.as_ref().map_or_else(|| format!("highest {meaning}"), LitStr::value);
            let rows = [
                (".mean", format!("mean {meaning} over time")),
                (".p99", format!("{meaning} not exceeded in 99 % of the time")),
                (".max", most),
            ];
            let own = |n: usize| self.one(&format!("{name}{}", rows[n].0), &unit("1"), &rows[n].1, n == 0);
            return Ok((
                (0..rows.len()).map(own).collect(),
                quote!(::params::StatSink::occupancy(sink, #name, #value);),
            ));
        }
        if is(ty, "Distribution") {
            let rows = [
                (".mean", format!("mean {meaning}")),
                (".p10", format!("{meaning} that 10 % do not exceed")),
                (".p50", format!("{meaning} that half do not exceed")),
                (".p90", format!("{meaning} that 90 % do not exceed")),
                (".p99", format!("{meaning} that 99 % do not exceed")),
                (".p999", format!("{meaning} that 99.9 % do not exceed")),
                (
                    ".p99999",
                    format!(
                        "{meaning} that 99.999 % do not exceed; the longest of fewer than 100,000; as all such shares within .8 %"
                    ),
                ),
            ];
            let own = |n: usize| self.one(&format!("{name}{}", rows[n].0), &unit("ns"), &rows[n].1, n == 0);
            return Ok((
                (0..rows.len()).map(own).collect(),
                quote!(::params::StatSink::distribution(sink, #name, #value);),
            ));
        }
        Err(Error::new_spanned(
            ty,
            "a statistic is a u64, a Dur, an Occupancy, a Distribution, an f64 or an Option of one; else give skip",
        ))
    }

    /// One row; `first` of a field's has the field's column.
    fn one(&self, name: &str, unit: &str, meaning: &str, first: bool) -> TokenStream {
        let column = if first { self.column.as_str() } else { "" };
        let explains = self.explains.split_whitespace();
        let (reported, sometimes) = (!self.unreported, self.sometimes || self.unless_zero);
        quote!(::params::StatisticInfo {
            name: #name,
            unit: #unit,
            meaning: #meaning,
            column: #column,
            explains: &[#(#explains),*],
            reported: #reported,
            sometimes: #sometimes,
        })
    }
}

/// Whether the type's last word is `name`.
fn is(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == name))
}

/// What stands in `name<...>`.
fn inside<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|s| s.ident == name)?;
    let PathArguments::AngleBracketed(of) = &last.arguments else { return None };
    of.args.iter().find_map(|argument| if let GenericArgument::Type(ty) = argument { Some(ty) } else { None })
}
