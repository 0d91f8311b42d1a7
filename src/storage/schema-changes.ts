/** A change of the schema, as SQL of each engine. */
interface SchemaChange {
  readonly sqlite: string;
  readonly postgres: string;
}

/** Steps that both engines take after the earlier ones, which each has alone. They are only ever appended, and never changed. */
export const schemaChanges: readonly SchemaChange[] = [];
