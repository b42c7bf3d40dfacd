//! Enums whose variants have names on the command line and in files.

/// Parsing and serde for an enum with `ALL` of its variants and a `name` for each: an unknown name is an error that lists the
/// choices.
macro_rules! by_name {
    ($name:ident, $what:literal) => {
        impl std::str::FromStr for $name {
            type Err = $crate::Error;

            fn from_str(name: &str) -> $crate::Result<Self> {
                Self::ALL.into_iter().find(|choice| choice.name() == name).ok_or_else(|| $crate::Error::UnknownName {
                    what: $what,
                    name: name.to_owned(),
                    choices: Self::ALL.map(Self::name).join(", "),
                })
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::Error;

            fn try_from(name: String) -> $crate::Result<Self> {
                name.parse()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.name())
            }
        }

        impl From<$name> for String {
            fn from(choice: $name) -> Self {
                choice.name().to_owned()
            }
        }
    };
}

/// An enum whose variants stand beside their names.
macro_rules! named {
    ($(#[$about:meta])* $name:ident: $what:literal { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All variants.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$variant),*];

            /// Name on the command line and in files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        $crate::names::by_name!($name, $what);
    };
}

pub(crate) use {by_name, named};
