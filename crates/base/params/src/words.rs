//! From settings to the types of fields.

use crate::{Kind, Setting};
use units::Dur;

/// An enum whose variants are the words that a parameter takes; derived. A variant's word is its name in lower case
/// with hyphens, or that of `#[word = "..."]`. `Option` of it takes "none" besides.
pub trait Words: Sized + 'static {
    /// Every variant.
    const ALL: &'static [Self];
    /// Their words.
    const WORDS: &'static [&'static str];
    /// Their words after "none".
    const WORDS_OR_NONE: &'static [&'static str];

    /// The word of this one.
    fn word(&self) -> &'static str;

    /// The variant with that word.
    fn from_word(word: &str) -> Option<Self>;
}

/// What a setting may be read as.
pub trait FromSetting: Sized {
    /// The value; none where the setting is of another kind.
    fn from_setting(setting: &Setting) -> Option<Self>;
}

/// A type that says by itself what it accepts.
pub trait Plain: FromSetting {
    /// What that is.
    const KIND: Kind;
}

/// Types of whole numbers.
pub trait Whole: FromSetting {
    /// The largest.
    const MOST: u64;
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl FromSetting for $type {
            fn from_setting(setting: &Setting) -> Option<$type> {
                setting.as_number().and_then(|n| n.try_into().ok())
            }
        }

        impl Whole for $type {
            const MOST: u64 = <$type>::MAX as u64;
        }
    )*};
}

whole!(u8, u16, u32, u64, usize);

impl FromSetting for Dur {
    fn from_setting(setting: &Setting) -> Option<Dur> {
        setting.as_number().map(Dur::ps)
    }
}

impl FromSetting for bool {
    fn from_setting(setting: &Setting) -> Option<bool> {
        match setting {
            Setting::Flag(flag) => Some(*flag),
            Setting::Number(_) | Setting::Text(_) => None,
        }
    }
}

impl Plain for bool {
    const KIND: Kind = Kind::Flag;
}

impl FromSetting for String {
    fn from_setting(setting: &Setting) -> Option<String> {
        setting.as_text().map(str::to_string)
    }
}

impl Plain for String {
    const KIND: Kind = Kind::Text;
}

impl<T: Words> FromSetting for Option<T> {
    fn from_setting(setting: &Setting) -> Option<Option<T>> {
        match setting.as_text()? {
            "none" => Some(None),
            word => T::from_word(word).map(Some),
        }
    }
}

impl<T: Words> Plain for Option<T> {
    const KIND: Kind = Kind::Choice(T::WORDS_OR_NONE);
}
