/** A change of the schema, as SQL of each engine. */
interface SchemaChange {
  readonly sqlite: string;
  readonly postgres: string;
}

/** The steps of both engines behind those of their own migrations. They are only ever appended, and never changed. */
export const schemaChanges: readonly SchemaChange[] = [];
