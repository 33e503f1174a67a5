//! `Words`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, Lit, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "give an enum: its variants are the words"));
    };
    let (mut variants, mut words) = (Vec::new(), Vec::new());
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(variant, "a word has no fields"));
        }
        let word = given(&variant.attrs)?.unwrap_or_else(|| kebab(&variant.ident.to_string()));
        if words.contains(&word) {
            return Err(Error::new_spanned(variant, format!("{word} stands there twice")));
        }
        variants.push(&variant.ident);
        words.push(word);
    }
    let name = &input.ident;
    Ok(quote! {
        impl ::params::Words for #name {
            const ALL: &'static [Self] = &[#(Self::#variants),*];
            const WORDS: &'static [&'static str] = &[#(#words),*];
            const WORDS_OR_NONE: &'static [&'static str] = &["none", #(#words),*];

            fn word(&self) -> &'static str {
                match self {
                    #(Self::#variants => #words),*
                }
            }

            fn from_word(word: &str) -> ::core::option::Option<Self> {
                match word {
                    #(#words => ::core::option::Option::Some(Self::#variants),)*
                    _ => ::core::option::Option::None,
                }
            }
        }

        impl ::params::FromSetting for #name {
            fn from_setting(setting: &::params::Setting) -> ::core::option::Option<Self> {
                setting.as_text().and_then(<Self as ::params::Words>::from_word)
            }
        }

        impl ::params::Plain for #name {
            const KIND: ::params::Kind = ::params::Kind::Choice(<Self as ::params::Words>::WORDS);
        }
    })
}

/// The word of `#[word = "..."]`.
fn given(attributes: &[Attribute]) -> Result<Option<String>> {
    let Some(attribute) = attributes.iter().find(|a| a.path().is_ident("word")) else { return Ok(None) };
    let value = &attribute.meta.require_name_value()?.value;
    if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value {
        return Ok(Some(text.value()));
    }
    Err(Error::new_spanned(value, "give a text in quotes"))
}

/// `CopyOnWrite` is `copy-on-write`.
fn kebab(name: &str) -> String {
    let mut word = String::new();
    for (at, c) in name.chars().enumerate() {
        if c.is_uppercase() && at > 0 {
            word.push('-');
        }
        word.extend(c.to_lowercase());
    }
    word
}
