//! Parses tokens to a query, with the values of its parameters filled in.

use std::vec::IntoIter;

use sage_errors::{Detail, SageError};
use serde_json::{Map, Value};

use super::refused;
use super::token::{Token, tokens};

#[derive(Debug, PartialEq)]
pub(super) struct Query {
    pub(super) commit: Option<String>,
    /// One node, or the two ends of an edge.
    pub(super) nodes: Vec<NodePattern>,
    pub(super) edge: Option<EdgePattern>,
    pub(super) conditions: Vec<Condition>,
    pub(super) columns: Vec<Column>,
    pub(super) order: Vec<Order>,
    pub(super) limit: Option<usize>,
}

#[derive(Debug, PartialEq)]
pub(super) struct NodePattern {
    pub(super) variable: Option<String>,
    pub(super) label: Option<String>,
    pub(super) properties: Vec<(String, Value)>,
}

#[derive(Debug, PartialEq)]
pub(super) struct EdgePattern {
    pub(super) kind: String,
    /// From the first node to the second.
    pub(super) is_forward: bool,
}

#[derive(Debug, PartialEq)]
pub(super) struct Condition {
    pub(super) property: Property,
    pub(super) is_equal: bool,
    pub(super) value: Value,
}

/// A key of the node at this position of the pattern.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Property {
    pub(super) node: usize,
    pub(super) key: String,
}

#[derive(Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    /// A column without a property counts.
    pub(super) property: Option<Property>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Order {
    pub(super) by: By,
    pub(super) is_descending: bool,
}

#[derive(Debug, PartialEq)]
pub(super) enum By {
    Column(usize),
    Property(Property),
}

/// Reads a query.
pub(super) fn query(text: &str, params: &Map<String, Value>) -> Result<Query, SageError> {
    let (tokens, commit) = tokens(text)?;
    let mut parser = Parser { tokens: tokens.into_iter(), params };
    parser.expect_word("MATCH")?;
    let (nodes, edge) = parser.pattern()?;
    let mut conditions = Vec::new();
    if parser.takes_word("WHERE") {
        loop {
            conditions.push(parser.condition(&nodes)?);
            if !parser.takes_word("AND") {
                break;
            }
        }
    }
    parser.expect_word("RETURN")?;
    let columns = parser.columns(&nodes)?;
    let order = parser.order(&nodes, &columns)?;
    let limit = if parser.takes_word("LIMIT") { Some(parser.limit()?) } else { None };
    match parser.tokens.next() {
        Some(token) => Err(refused(format!("{token} is not supported at the end"))),
        None => Ok(Query { commit, nodes, edge, conditions, columns, order, limit }),
    }
}

struct Parser<'a> {
    tokens: IntoIter<Token>,
    params: &'a Map<String, Value>,
}

impl Parser<'_> {
    fn pattern(&mut self) -> Result<(Vec<NodePattern>, Option<EdgePattern>), SageError> {
        let first = self.node()?;
        let is_forward = match self.peek() {
            Some(Token::Sign("-")) => true,
            Some(Token::Sign("<-")) => false,
            _ => return Ok((vec![first], None)),
        };
        self.tokens.next();
        self.expect_sign("[")?;
        self.expect_sign(":")?;
        let kind = self.name("the kind of an edge")?;
        self.expect_sign("]")?;
        self.expect_sign(if is_forward { "->" } else { "-" })?;
        Ok((vec![first, self.node()?], Some(EdgePattern { kind, is_forward })))
    }

    fn node(&mut self) -> Result<NodePattern, SageError> {
        self.expect_sign("(")?;
        let named = matches!(self.peek(), Some(Token::Word(_)));
        let variable = if named { Some(self.name("a variable")?) } else { None };
        let label = if self.takes_sign(":") { Some(self.name("a label")?) } else { None };
        let mut properties = Vec::new();
        if self.takes_sign("{") && !self.takes_sign("}") {
            loop {
                let key = self.name("a key")?;
                self.expect_sign(":")?;
                properties.push((key, self.value()?));
                if !self.takes_sign(",") {
                    break;
                }
            }
            self.expect_sign("}")?;
        }
        self.expect_sign(")")?;
        Ok(NodePattern { variable, label, properties })
    }

    fn condition(&mut self, nodes: &[NodePattern]) -> Result<Condition, SageError> {
        let property = self.property(nodes)?;
        let is_equal = match self.tokens.next() {
            Some(Token::Sign("=")) => true,
            Some(Token::Sign("<>")) => false,
            other => return Err(not(other, "`=` or `<>`")),
        };
        Ok(Condition { property, is_equal, value: self.value()? })
    }

    fn columns(&mut self, nodes: &[NodePattern]) -> Result<Vec<Column>, SageError> {
        let mut columns: Vec<Column> = Vec::new();
        loop {
            let property = if self.takes_count()? { None } else { Some(self.property(nodes)?) };
            let name = if self.takes_word("AS") {
                self.name("a column")?
            } else {
                written(property.as_ref(), nodes)
            };
            if columns.iter().any(|column| column.name == name) {
                return Err(refused(format!("two columns are named `{name}`; rename one with AS")));
            }
            columns.push(Column { name, property });
            if !self.takes_sign(",") {
                return Ok(columns);
            }
        }
    }

    fn order(
        &mut self,
        nodes: &[NodePattern],
        columns: &[Column],
    ) -> Result<Vec<Order>, SageError> {
        let mut order = Vec::new();
        if !self.takes_word("ORDER") {
            return Ok(order);
        }
        self.expect_word("BY")?;
        loop {
            let by = self.by(nodes, columns)?;
            let is_descending = self.takes_word("DESC");
            if !is_descending {
                self.takes_word("ASC");
            }
            order.push(Order { by, is_descending });
            if !self.takes_sign(",") {
                return Ok(order);
            }
        }
    }

    /// A column, by its name or its expression. Anything else can only order rows that are not grouped.
    fn by(&mut self, nodes: &[NodePattern], columns: &[Column]) -> Result<By, SageError> {
        let mut ahead = self.tokens.clone();
        if let (Some(Token::Word(name)), after) = (ahead.next(), ahead.next())
            && !matches!(after, Some(Token::Sign("." | "(")))
        {
            self.tokens.next();
            let at = columns.iter().position(|column| column.name == name);
            return at
                .map(By::Column)
                .ok_or_else(|| refused(format!("there is no column `{name}`")));
        }
        let property = if self.takes_count()? { None } else { Some(self.property(nodes)?) };
        match (columns.iter().position(|column| column.property == property), property) {
            (Some(at), _) => Ok(By::Column(at)),
            (None, Some(property)) if columns.iter().all(|column| column.property.is_some()) => {
                Ok(By::Property(property))
            }
            (None, property) => {
                let property = written(property.as_ref(), nodes);
                Err(refused(format!("ORDER BY `{property}` needs it in RETURN")))
            }
        }
    }

    fn limit(&mut self) -> Result<usize, SageError> {
        let value = self.value()?;
        let limit = value.as_u64().and_then(|limit| usize::try_from(limit).ok());
        limit.ok_or_else(|| {
            refused(format!("LIMIT takes a whole number of at least 0, not {value}"))
        })
    }

    fn property(&mut self, nodes: &[NodePattern]) -> Result<Property, SageError> {
        let variable = self.name("a variable")?;
        let known: Vec<_> = nodes.iter().filter_map(|node| node.variable.as_deref()).collect();
        let Some(node) = nodes.iter().position(|node| node.variable.as_ref() == Some(&variable))
        else {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(refused(format!(
                "`{variable}` is not a variable of MATCH; it has {known}"
            )));
        };
        if !self.takes_sign(".") {
            return Err(refused(format!(
                "`{variable}` alone is not supported; name a key, as in `{variable}.name`"
            )));
        }
        Ok(Property { node, key: self.name("a key")? })
    }

    fn value(&mut self) -> Result<Value, SageError> {
        match self.tokens.next() {
            Some(Token::Literal(value)) => Ok(value),
            Some(Token::Param(name)) => self.params.get(&name).cloned().ok_or_else(|| {
                let reason = format!("the query uses `${name}`, which is missing");
                SageError::validation(Detail::new("params", reason))
            }),
            Some(Token::Word(word)) => match word.to_ascii_lowercase().as_str() {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                "null" => Ok(Value::Null),
                _ => Err(not(Some(Token::Word(word)), "a value")),
            },
            other => Err(not(other, "a value")),
        }
    }

    fn takes_count(&mut self) -> Result<bool, SageError> {
        let mut ahead = self.tokens.clone();
        let counts = matches!(ahead.next(), Some(Token::Word(word)) if word.eq_ignore_ascii_case("count"))
            && matches!(ahead.next(), Some(Token::Sign("(")));
        if counts {
            self.tokens.next();
            self.expect_sign("(")?;
            self.expect_sign("*")?;
            self.expect_sign(")")?;
        }
        Ok(counts)
    }

    fn name(&mut self, what: &str) -> Result<String, SageError> {
        match self.tokens.next() {
            Some(Token::Word(name)) => Ok(name),
            other => Err(not(other, what)),
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.as_slice().first()
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let takes = matches!(self.peek(), Some(Token::Sign(next)) if *next == sign);
        if takes {
            self.tokens.next();
        }
        takes
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let takes =
            matches!(self.peek(), Some(Token::Word(next)) if next.eq_ignore_ascii_case(word));
        if takes {
            self.tokens.next();
        }
        takes
    }

    fn expect_sign(&mut self, sign: &str) -> Result<(), SageError> {
        match self.takes_sign(sign) {
            true => Ok(()),
            false => Err(not(self.tokens.next(), &format!("`{sign}`"))),
        }
    }

    fn expect_word(&mut self, word: &str) -> Result<(), SageError> {
        match self.takes_word(word) {
            true => Ok(()),
            false => Err(not(self.tokens.next(), word)),
        }
    }
}

/// The default name of a column.
fn written(property: Option<&Property>, nodes: &[NodePattern]) -> String {
    match property {
        None => "count(*)".to_owned(),
        Some(Property { node, key }) => {
            format!("{}.{key}", nodes[*node].variable.as_deref().unwrap_or_default())
        }
    }
}

fn not(found: Option<Token>, expected: &str) -> SageError {
    match found {
        Some(token) => refused(format!("{token} stands where {expected} should be")),
        None => refused(format!("the query ends where {expected} should be")),
    }
}
