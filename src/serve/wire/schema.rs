//! JSON Schemas of values that other rooms own: ids, states, counts. What they are is said there, how they look here.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::eval::ByMetric;
use crate::{
    index::{CollectionStats, Facets, Problem, Status},
    types::{ChunkId, Pooling, SourceId},
};

macro_rules! schema {
    ($type:ty, $name:literal, $generator:ident => $schema:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

schema!(ChunkId, "ChunkId", _generator => json_schema!({
    "type": "string", "pattern": "^[0-9a-z]{13}$", "description": "the id of a chunk",
}));

schema!(SourceId, "SourceId", _generator => json_schema!({
    "type": "string", "pattern": "^[0-9a-z]{13}$", "description": "the id of a document",
}));

schema!(Status, "Status", _generator => json_schema!({
    "enum": ["indexed", "warned", "failed"],
    "description": "`warned`: searchable, but something was lost; `failed`: it could not be read and has no chunks",
}));

schema!(Pooling, "Pooling", _generator => json_schema!({
    "enum": ["mean", "cls", "inside"],
    "description": "how a model makes one vector of those of its tokens; `inside`: it does so itself",
}));

schema!(Problem, "Problem", _generator => json_schema!({
    "type": "object",
    "required": ["reason", "message"],
    "properties": {
        "reason": { "type": "string", "description": "a stable word: `encrypted`, `damaged`, `timeout`, …" },
        "message": { "type": "string" },
        "transient": { "type": "boolean", "default": false, "description": "a later try may succeed" },
    },
}));

schema!(CollectionStats, "CollectionStats", generator => {
    let count = generator.subschema_for::<u64>();
    json_schema!({
        "type": "object",
        "required": ["sources", "chunks"],
        "properties": { "sources": count, "chunks": count },
    })
});

schema!(Facets, "Facets", generator => {
    let count = generator.subschema_for::<u64>();
    let counts = json_schema!({
        "type": "object", "additionalProperties": count, "description": "value → documents",
    });
    json_schema!({
        "type": "object",
        "required": ["documents", "type", "lang", "tags", "folders", "author", "year", "collection", "status"],
        "properties": {
            "documents": count,
            "type": counts, "lang": counts, "folders": counts, "author": counts, "year": counts, "collection": counts,
            "status": counts,
            "tags": { "type": "object", "additionalProperties": counts, "description": "key → its values" },
        },
    })
});

impl<T: JsonSchema> JsonSchema for ByMetric<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}ByMetric", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({
            "type": "object", "additionalProperties": value, "description": "a field for each metric, as `ndcg@10`",
        })
    }
}
