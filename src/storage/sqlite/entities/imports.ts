import type { ImportRun, imports } from '../../../tables/imports.ts';
import type { ImportStore } from '../../storage.ts';
import { SqliteEntity } from './entity.ts';

export class SqliteImports extends SqliteEntity<typeof imports> implements ImportStore {
  findParts(content: string): ImportRun[] {
    return this.rows(this.prepare(`${this.select} WHERE source LIKE ?1 || ':%'`), content);
  }
}
