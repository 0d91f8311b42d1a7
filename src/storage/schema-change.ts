/** A change of the schema, as SQL for each engine that it concerns. */
export interface SchemaChange {
  readonly sqlite?: string;
  readonly postgres: string;
}
