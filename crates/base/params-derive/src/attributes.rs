//! What stands beside a field: its doc comment, and the arguments of attributes.

use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, Lit, LitStr, Result, Token};

/// The doc comment as one line: it is a row's meaning.
pub(crate) fn meaning(attributes: &[Attribute]) -> Option<String> {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        let syn::Meta::NameValue(pair) = &attribute.meta else { continue };
        if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value {
            lines.push(text.value().trim().to_string());
        }
    }
    let text = lines.join(" ").trim().to_string();
    (!text.is_empty()).then_some(text)
}

/// One argument: a name, and what it is set to.
pub(crate) struct Argument {
    pub(crate) name: syn::Ident,
    pub(crate) value: Option<Expr>,
}

impl Argument {
    /// The value, which has to be there.
    pub(crate) fn value(self) -> Result<Expr> {
        let text = format!("{} = ... is missing its value", self.name);
        self.value.ok_or_else(|| Error::new(self.name.span(), text))
    }

    /// The value, which has to be text.
    pub(crate) fn text(self) -> Result<LitStr> {
        let (name, value) = (self.name.clone(), self.value()?);
        if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value {
            return Ok(text);
        }
        Err(Error::new_spanned(value, format!("{name}: give a text in quotes")))
    }

    /// Nothing of the sort is known.
    pub(crate) fn unknown(&self, known: &str) -> Error {
        Error::new(self.name.span(), format!("unknown argument {}; known are {known}", self.name))
    }
}

/// Every argument of the attributes called `name`, such as `#[param(default = "4", power_of_two)]`.
pub(crate) fn arguments(attributes: &[Attribute], name: &str) -> Result<Vec<Argument>> {
    let mut all = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident(name)) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.require_ident()?.clone();
            let value = if meta.input.peek(Token![=]) { Some(meta.value()?.parse()?) } else { None };
            all.push(Argument { name, value });
            Ok(())
        })?;
    }
    Ok(all)
}

/// `prefix` of `#[name(prefix = "...")]`.
pub(crate) fn prefix(input: &DeriveInput, name: &str) -> Result<String> {
    prefix_and(input, name, None).map(|(prefix, _)| prefix)
}

/// The same, and whether the word `flag` stands beside it.
pub(crate) fn prefix_and(input: &DeriveInput, name: &str, flag: Option<&str>) -> Result<(String, bool)> {
    let (mut prefix, mut has_flag) = (None, false);
    for argument in arguments(&input.attrs, name)? {
        if argument.name == "prefix" {
            prefix = Some(argument.text()?.value());
        } else if flag.is_some_and(|flag| argument.name == flag) {
            has_flag = true;
        } else {
            let known = flag.map_or_else(String::new, |flag| format!(", {flag}"));
            return Err(argument.unknown(&format!("prefix{known}")));
        }
    }
    let missing = || Error::new_spanned(&input.ident, format!("#[{name}(prefix = \"...\")] is missing"));
    Ok((prefix.ok_or_else(missing)?, has_flag))
}

/// The named fields of a struct.
pub(crate) fn fields(input: &DeriveInput) -> Result<impl Iterator<Item = &Field>> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(named) => Ok(named.named.iter()),
            Fields::Unnamed(_) | Fields::Unit => {
                Err(Error::new_spanned(&input.ident, "its fields need names: they are its rows"))
            }
        },
        Data::Enum(_) | Data::Union(_) => Err(Error::new_spanned(&input.ident, "give a struct")),
    }
}

/// A field's name, and the dotted name of its row.
pub(crate) fn dotted(prefix: &str, field: &Field, own: Option<&str>) -> Result<(syn::Ident, String)> {
    let ident = field.ident.clone().ok_or_else(|| Error::new_spanned(field, "a field needs a name"))?;
    let name = own.map_or_else(|| ident.to_string().trim_start_matches("r#").to_string(), str::to_string);
    Ok((ident, if prefix.is_empty() { name } else { format!("{prefix}.{name}") }))
}
