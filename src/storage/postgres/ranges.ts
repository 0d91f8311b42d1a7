/**
 * Pages by the range of an index. Its bounds and its order are written as rows of the index's columns, for which only
 * this index serves: where the planner is left the choice, it may think a value common and walk the primary key past all
 * that have another one, which costs more the deeper the page is.
 */
import type { SQL } from 'bun';
import { int64Max } from '../../domain/int64.ts';
