/** The words in which the SQL of the engines differs. */
export interface Dialect {
  /** Ids that the store assigns. On PostgreSQL, they come from `counters`. */
  readonly id: string;
  /** Ids that are assigned elsewhere. */
  readonly key: string;
  readonly integer: string;
  readonly boolean: string;
  readonly text: string;
  /** Text in the order of its code points. */
  readonly code: string;
  /** The end of a table whose key is an id. */
  readonly withId: string;
  /** The end of any other table. */
  readonly withKey: string;
  /** The end of a table whose rows are overwritten every few seconds. With free space on a page, indexes need no change. */
  readonly overwritten: string;
  /** The end of an index whose order includes the id. On SQLite, every index ends with the id. */
  readonly andId: string;
  /** The function that returns the position of a text in another. */
  readonly position: string;
}

export const sqlite: Dialect = {
  id: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  key: 'INTEGER PRIMARY KEY',
  integer: 'INTEGER',
  boolean: 'INTEGER',
  text: 'TEXT',
  code: 'TEXT',
  withId: 'STRICT',
  withKey: 'STRICT, WITHOUT ROWID',
  overwritten: 'STRICT, WITHOUT ROWID',
  andId: '',
  position: 'instr',
};

export const postgres: Dialect = {
  id: 'bigint PRIMARY KEY',
  key: 'bigint PRIMARY KEY',
  integer: 'bigint',
  boolean: 'boolean',
  text: 'text',
  code: 'text COLLATE "C"',
  withId: '',
  withKey: '',
  overwritten: 'WITH (fillfactor = 70)',
  andId: ', id',
  position: 'strpos',
};
