//! Serializer that writes a row into the columns.

use super::{Cells, Error, Rows};
use crate::table::NO_INTEGER;
use serde::Serialize;
use serde::ser::{Error as _, Impossible, SerializeMap, SerializeSeq, SerializeStruct, Serializer};

/// Table within a row.
pub struct Fields<'a>(&'a mut Rows, String);

/// Refuses kinds of values that no column can hold.
macro_rules! refused {
    ($($name:ident($kind:ty)),+ $(,)?) => {$(
        fn $name(self, _: $kind) -> Result<(), Error> {
            Err(Error::custom(concat!("no column holds ", stringify!($kind))))
        }
    )+};
}

/// List within a row, which is left out.
pub struct Ignored;

impl<'a> Serializer for &'a mut Rows {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Ignored;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Fields<'a>;
    type SerializeStruct = Fields<'a>;
    type SerializeStructVariant = Impossible<(), Error>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        let Cells::Flag(values) = self.next(|| Cells::Flag(Vec::new())) else {
            return Err(Error::custom("a flag where there was none before"));
        };
        values.push(value);
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.integer(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.integer(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.integer(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        assert_ne!(value, NO_INTEGER, "stands for no number");
        self.integer(value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.float(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.float(f64::NAN)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.optional = true;
        let done = value.serialize(&mut *self);
        self.optional = false;
        done
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.next(Cells::named).push_name(Some(value));
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields<'a>, Error> {
        Ok(Fields(self, String::new()))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields<'a>, Error> {
        Ok(Fields(self, String::new()))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Ignored, Error> {
        Ok(Ignored)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    refused! {
        serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_f32(f32), serialize_char(char), serialize_bytes(&[u8]),
        serialize_unit_struct(&'static str)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        Err(Error::custom("nothing: no column holds it"))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        Err(Error::custom(variant))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        Err(Error::custom("a tuple: no column holds it"))
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        Err(Error::custom(name))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Err(Error::custom(variant))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Err(Error::custom(variant))
    }
}

impl SerializeStruct for Fields<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.0.field(key, value)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

/// Serde writes a struct with a flattened field as a map.
impl SerializeMap for Fields<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.1 = match serde_json::to_value(key) {
            Ok(serde_json::Value::String(text)) => text,
            _ => return Err(Error::custom("a key that is no text")),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = std::mem::take(&mut self.1);
        self.0.field(&key, value)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl SerializeSeq for Ignored {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), Error> {
        Ok(())
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}
