//! Enums whose variants have names on the command line and in files.

/// An enum with `ALL` of its variants, their `name`s, and parsing, which lists the choices where a name is none of them.
macro_rules! named {
    ($(#[$about:meta])* $name:ident: $what:literal { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// Every choice.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$variant),*];

            /// Name on the command line and in files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

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

        impl std::convert::From<$name> for String {
            fn from(choice: $name) -> Self {
                choice.name().to_owned()
            }
        }
    };
}

pub(crate) use named;
