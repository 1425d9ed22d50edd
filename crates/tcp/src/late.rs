//! Lazily allocated values, for state that most connections never need: allocated at the first
//! change, and kept.

use std::ops::{Deref, DerefMut};

/// Default of a [`Late`] value before it is allocated.
pub(crate) trait Nothing: Default + 'static {
    /// Equal to the default.
    const NOTHING: &'static Self;
}

/// Value that occupies only a pointer until it is first changed.
#[derive(Debug, Clone)]
pub(crate) struct Late<T>(Option<Box<T>>);

impl<T> Late<T> {
    /// Value that has not been allocated.
    pub const NONE: Self = Self(None);

    /// Value, if allocated.
    #[inline]
    pub fn made(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// Shared reference to the value, if allocated.
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
