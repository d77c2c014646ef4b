//! JSON read strictly: every repeated key is found, where `serde_json::Value` would keep the last.

use std::cell::RefCell;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A parsed text.
#[derive(Debug)]
pub struct Parsed {
    /// The value; of a repeated key, the last.
    pub value: Value,
    /// JSON pointers of the repeated keys.
    pub duplicates: Vec<String>,
}

/// Parses `text`, or says why it is not JSON, with line and column.
pub fn parse(text: &str) -> Result<Parsed, String> {
    let duplicates = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let seed = Node {
        pointer: String::new(),
        duplicates: &duplicates,
    };
    let value = seed
        .deserialize(&mut deserializer)
        .map_err(|error| error.to_string())?;
    deserializer.end().map_err(|error| error.to_string())?;
    Ok(Parsed {
        value,
        duplicates: duplicates.into_inner(),
    })
}

/// `pointer` one key or index further, escaped as RFC 6901 says.
pub fn child(pointer: &str, key: impl fmt::Display) -> String {
    format!(
        "{pointer}/{}",
        key.to_string().replace('~', "~0").replace('/', "~1")
    )
}

/// The JSON type of a value, as a message names it.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A value at `pointer` that is still to be read.
struct Node<'a> {
    pointer: String,
    duplicates: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("number out of range"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            let pointer = child(&self.pointer, items.len());
            let node = Node {
                pointer,
                duplicates: self.duplicates,
            };
            match access.next_element_seed(node)? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let pointer = child(&self.pointer, &key);
            if object.contains_key(&key) {
                self.duplicates.borrow_mut().push(pointer.clone());
            }
            let node = Node {
                pointer,
                duplicates: self.duplicates,
            };
            let value = access.next_value_seed(node)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_are_found_at_every_depth() {
        let parsed = parse(r#"{"a": 1, "b": [{"x": 1, "x": 2}], "a": {"c/d": 1, "c/d": 1}}"#);
        assert_eq!(parsed.unwrap().duplicates, ["/b/0/x", "/a", "/a/c~1d"]);
    }

    #[test]
    fn what_is_not_json_is_an_error_with_its_place() {
        for text in [
            "",
            "{",
            "{\"a\": NaN}",
            "[1,]",
            "{} {}",
            "1e999",
            "-Infinity",
            "\u{feff}{}",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("line 1 column"), "{text:?}: {error}");
        }
    }

    #[test]
    fn depth_is_bounded_without_a_crash() {
        assert!(
            parse(&"[".repeat(100_000))
                .unwrap_err()
                .contains("recursion limit")
        );
    }

    #[test]
    fn numbers_and_text_keep_their_values() {
        let text = r#"{"z":-3,"a":18446744073709551615,"m":[1.5,true,null,"é"]}"#;
        let parsed = parse(text).unwrap();
        assert_eq!(serde_json::to_string(&parsed.value).unwrap(), text);
        assert!(parsed.duplicates.is_empty());
    }
}
