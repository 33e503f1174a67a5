//! The derives of `params`: a struct's fields are rows of a table. `params` says what they are for; here is only
//! how a field becomes a row.
#![forbid(unsafe_code)]

mod attributes;
mod parameters;
mod statistics;
mod words;

use proc_macro::TokenStream;

/// A struct whose fields are parameters: see `params::Parameters`.
#[proc_macro_derive(Parameters, attributes(parameters, param))]
pub fn parameters(input: TokenStream) -> TokenStream {
    expand(input, parameters::derive)
}

/// An enum whose variants are the words of a parameter: see `params::Words`.
#[proc_macro_derive(Words, attributes(word))]
pub fn words(input: TokenStream) -> TokenStream {
    expand(input, words::derive)
}

/// A struct whose fields are statistics: see `params::Statistics`.
#[proc_macro_derive(Statistics, attributes(statistics, stat))]
pub fn statistics(input: TokenStream) -> TokenStream {
    expand(input, statistics::derive)
}

fn expand(
    input: TokenStream,
    derive: fn(&syn::DeriveInput) -> syn::Result<proc_macro2::TokenStream>,
) -> TokenStream {
    let derived = syn::parse(input).and_then(|input| derive(&input));
    derived.unwrap_or_else(|error| error.to_compile_error()).into()
}
