/** A schema change, as SQL for each engine that it affects. */
export interface SchemaChange {
  readonly sqlite?: string;
  readonly postgres: string;
}
