//! Tools by their names.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sage_errors::{Detail, SageError};
use serde_json::{Map, Value};

use crate::standard::{Bash, Edit, Graph, GraphQuery, Read, Write};
use crate::{InputSchema, Tool};

/// The tools of one session. Names are case-sensitive and unique. Cheap to clone.
#[derive(Clone, Default)]
pub struct Registry {
    // Sorted by name, which is the listing order.
    tools: BTreeMap<String, Registered>,
}

/// A tool with its schema, ready to be used.
#[derive(Clone)]
pub struct Registered {
    pub tool: Arc<dyn Tool>,
    pub schema: InputSchema,
}

impl Registry {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// GraphQuery, Read, Write, Edit and Bash.
    pub fn standard(graph: Arc<dyn Graph>) -> Self {
        let mut registry = Self::new();
        let tools: [Arc<dyn Tool>; 5] = [
            Arc::new(GraphQuery::new(graph)),
            Arc::new(Read::default()),
            Arc::new(Write::default()),
            Arc::new(Edit::default()),
            Arc::new(Bash::default()),
        ];
        for tool in tools {
            registry
                .register(tool)
                .expect("the standard tools have names and schemas of their own");
        }
        registry
    }

    /// # Errors
    /// `EVALIDATION`: with the field `name` if the name is empty or taken (the first tool stays); with the field
    /// `schema` if it is not a valid JSON Schema.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<(), SageError> {
        let name = tool.name().to_owned();
        let refuse = |reason| {
            let detail = Detail::new("name", reason).received(name.as_str());
            Err(SageError::validation(detail.expected("a name that no other tool has")))
        };
        if name.is_empty() {
            return refuse("is empty");
        }
        if self.tools.contains_key(&name) {
            return refuse("is taken by another tool");
        }
        let schema = InputSchema::compile(tool.schema())?;
        self.tools.insert(name, Registered { tool, schema });
        Ok(())
    }

    /// # Errors
    /// `EVALIDATION` with the field `name` when there is no such tool.
    pub fn get(&self, name: &str) -> Result<&Registered, SageError> {
        self.tools.get(name).ok_or_else(|| {
            let names: Vec<_> = self.tools.keys().map(String::as_str).collect();
            let detail = Detail::new("name", "names no tool").received(name);
            SageError::validation(detail.expected(names))
        })
    }

    /// `{name, parameters, description?}` of each tool, in the order of their names.
    pub fn schemas(&self) -> Vec<Value> {
        let listed = self.tools.values().map(|registered| {
            let tool = &registered.tool;
            let mut json = Map::new();
            json.insert("name".to_owned(), tool.name().into());
            json.insert("parameters".to_owned(), tool.schema().clone());
            if let Some(description) = tool.description() {
                json.insert("description".to_owned(), description.into());
            }
            Value::Object(json)
        });
        listed.collect()
    }
}

impl Registered {
    /// Returns the input if it fits.
    ///
    /// # Errors
    /// `EVALIDATION` with a detail for every fault.
    pub fn validate(&self, input: Value) -> Result<Value, SageError> {
        self.schema.check(&input)?;
        Ok(input)
    }

    /// `{name, schema, description?, version?}`, as it was registered.
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        json.insert("name".to_owned(), self.tool.name().into());
        if let Some(description) = self.tool.description() {
            json.insert("description".to_owned(), description.into());
        }
        json.insert("schema".to_owned(), self.tool.schema().clone());
        if let Some(version) = self.tool.version() {
            json.insert("version".to_owned(), version.into());
        }
        Value::Object(json)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}
