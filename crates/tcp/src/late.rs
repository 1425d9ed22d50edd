//! What most connections never need: it is made at its first change, and kept.

use std::ops::{Deref, DerefMut};

/// What a [`Late`] value looks like before there is one.
pub(crate) trait Nothing: Default + 'static {
    /// Equal to the default.
    const NOTHING: &'static Self;
}

/// A value that takes no more room than a pointer until it is first changed.
#[derive(Debug, Clone)]
pub(crate) struct Late<T>(Option<Box<T>>);

impl<T> Late<T> {
    /// Not yet made.
    pub const NONE: Self = Self(None);

    /// The value, once it has been made.
    #[inline]
    pub fn made(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// The same, to look at.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }
}

impl<T: Nothing> Deref for Late<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::NOTHING)
    }
}

impl<T: Nothing> DerefMut for Late<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(make)
    }
}

#[cold]
#[inline(never)]
fn make<T: Default>() -> Box<T> {
    Box::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Nothing for Vec<u8> {
        const NOTHING: &'static Self = &Self::new();
    }

    #[test]
    fn made_at_the_first_change() {
        let mut list: Late<Vec<u8>> = Late::NONE;
        assert!(list.is_empty() && list.made().is_none());
        list.push(1);
        assert_eq!((list.len(), list.get().is_some()), (1, true));
    }
}
