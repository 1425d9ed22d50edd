//! Values shared by many owners.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Value that clones share until one of them is changed (copy on write).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CopyOnWrite<T>(Arc<T>);

impl<T> From<T> for CopyOnWrite<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for CopyOnWrite<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for CopyOnWrite<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_its_own() {
        let first = CopyOnWrite::from(vec![1, 2]);
        let mut second = first.clone();
        assert!(std::ptr::eq(&*first, &*second));
        second.push(3);
        assert_eq!((first.len(), second.len()), (2, 3));
    }
}
