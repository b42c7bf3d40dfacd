//! The parts of the page that are shown alone, each with an address of its own.

use std::str::FromStr;

/// A part of the page that is shown alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screen {
    /// The first screen, and any methods side by side.
    #[default]
    Play,
    /// Frequencies, and what heads look at.
    Why,
    /// The study, and tables.
    Results,
    /// A text of the reader's.
    Text,
    /// Models of the reader's.
    Model,
    /// Training in this tab.
    Recalibrate,
}

impl Screen {
    /// In the order of the links.
    pub const ALL: [Self; 6] = [Self::Play, Self::Why, Self::Results, Self::Text, Self::Model, Self::Recalibrate];

    /// Name in the address.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Play => "play",
            Self::Why => "why",
            Self::Results => "results",
            Self::Text => "text",
            Self::Model => "model",
            Self::Recalibrate => "recalibrate",
        }
    }

    /// What the link to it says.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Play => "Play",
            Self::Why => "Why",
            Self::Results => "Results",
            Self::Text => "Your text",
            Self::Model => "Your model",
            Self::Recalibrate => "Recalibrate",
        }
    }
}

impl FromStr for Screen {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|screen| screen.name() == name).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::Screen;

    #[test]
    fn screens_have_names_of_their_own() {
        for screen in Screen::ALL {
            assert_eq!(screen.name().parse(), Ok(screen));
        }
        assert_eq!("unknown".parse::<Screen>(), Err(()));
    }
}
