//! Fields that files leave out.

/// Whether a field has the value that it has where files leave it out.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
