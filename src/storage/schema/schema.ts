import type { SchemaChange } from './schema-change.ts';
import { version10 } from './version-1-0.ts';
import { version11 } from './version-1-1.ts';
import { version12 } from './version-1-2.ts';

/** In order. Never change the changes of a released version. A new store gets all of them. */
export const schemaChanges: readonly SchemaChange[] = [version10, version11, version12];
