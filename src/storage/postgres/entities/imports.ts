import type { ImportRun, imports } from '../../../tables/imports.ts';
import type { ImportStore } from '../../storage.ts';
import { PostgresEntity } from './entity.ts';

export class PostgresImports extends PostgresEntity<typeof imports> implements ImportStore {
  findParts(content: string): Promise<ImportRun[]> {
    return this.rows(`${this.texts.select} WHERE source LIKE $1`, `${content}:%`);
  }
}
