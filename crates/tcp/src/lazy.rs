//! Lazily allocated values, for state that most connections never need: allocated at the first
//! change, and kept.

use std::ops::{Deref, DerefMut};

/// Value that a [`Lazy`] has before it is allocated.
pub(crate) trait LazyDefault: Default + 'static {
    /// Constant that equals `Self::default()`.
    const DEFAULT: &'static Self;
}

/// Value that occupies only a pointer until it is first changed.
#[derive(Debug, Clone)]
pub(crate) struct Lazy<T>(Option<Box<T>>);

impl<T> Lazy<T> {
    /// Value that has not been allocated.
    pub const NONE: Self = Self(None);

    /// Mutable reference to the value, if allocated.
    #[inline]
    pub fn allocated_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// Shared reference to the value, if allocated.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }
}

impl<T: LazyDefault> Deref for Lazy<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::DEFAULT)
    }
}

impl<T: LazyDefault> DerefMut for Lazy<T> {
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

    impl LazyDefault for Vec<u8> {
        const DEFAULT: &'static Self = &Self::new();
    }

    #[test]
    fn made_at_the_first_change() {
        let mut list: Lazy<Vec<u8>> = Lazy::NONE;
        assert!(list.is_empty() && list.allocated_mut().is_none());
        list.push(1);
        assert_eq!((list.len(), list.get().is_some()), (1, true));
    }
}
