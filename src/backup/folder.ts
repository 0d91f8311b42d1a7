import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { createFileIfMissing, createFolder } from '../store-files/files.ts';
import type { NamedFile, VerificationResult } from './backup.ts';
import { isBackup } from './backup-file.ts';
import { removeLeftovers } from './leftovers.ts';

const suffix = '.backup';
/**
 * The part of a backup's name after the prefix: a UTC time in a format that every file system allows, and a label if
 * the backup was created manually.
 */
const nameForm = /^(\d{4}-\d\d-\d\dT\d\d)(\d\d)(\d\d)Z(?:-([\w.-]+))?$/;
/** Suffix of the file that stores a backup's latest verification result. */
const verifiedSuffix = '.verified';

/**
 * A folder of backups. Several stores may share a folder, so the name of each backup begins with the name of the data
 * file.
 */
export class BackupFolder {
  readonly path: string;
  readonly #prefix: string;

  constructor(path: string, dataFile: string) {
    this.path = resolve(path);
    this.#prefix = `${basename(dataFile).replace(/\.db$/, '')}-`;
  }

  async list(): Promise<NamedFile[]> {
    const names = await readdir(this.path).catch(ifMissing);
    const found = await Promise.all(names.map((name) => this.#fileOf(name)));
    return found.filter((file) => file !== undefined).sort((a, b) => b.createdAt - a.createdAt);
  }

  /** The path of the backup with this name; undefined for a name that `list` never returns. */
  pathOf(name: string): string | undefined {
    return this.#partsOf(name) === undefined ? undefined : join(this.path, name);
  }

  nameAt(now: number, label: string | null): string {
    const instant = new Date(now).toISOString().replace(/:(\d\d):(\d\d)\.\d+Z$/, '$1$2Z');
    return `${this.#prefix}${instant}${label === null ? '' : `-${label}`}${suffix}`;
  }

  /** Creates the folder if it is missing, and removes unfinished files left by a killed service. */
  async prepare(): Promise<void> {
    createFolder(this.path);
    removeLeftovers(this.path, (name) => this.#partsOf(name) !== undefined);
  }

  /**
   * Removes all scheduled backups except the newest `keep` backups, which always include `latest`, even if others have later
   * timestamps. Resolves with the names of the removed backups.
   */
  async prune(keep: number, latest: string): Promise<string[]> {
    const others = (await this.list()).filter(({ name, label }) => name !== latest && label === null);
    const old = others.slice(keep - 1).map(({ name }) => name);
    for (const name of old) {
      await rm(join(this.path, name), { force: true });
      await rm(join(this.path, name + verifiedSuffix), { force: true });
    }
    return old;
  }

  async noteVerified(name: string, result: VerificationResult): Promise<void> {
    const path = join(this.path, name + verifiedSuffix);
    createFileIfMissing(path);
    await writeFile(path, JSON.stringify(result));
  }

  async #fileOf(name: string): Promise<NamedFile | undefined> {
    const parts = this.#partsOf(name);
    if (parts === undefined) return undefined;
    const path = join(this.path, name);
    const found = await stat(path).catch(() => undefined);
    // Ignores other programs' files with matching names.
    if (found?.isFile() !== true || !isBackup(path)) return undefined;
    return { name, bytes: found.size, ...parts, verified: await this.#verified(name) };
  }

  async #verified(name: string): Promise<VerificationResult | null> {
    try {
      return JSON.parse(await readFile(join(this.path, name + verifiedSuffix), 'utf8')) as VerificationResult;
    } catch {
      return null;
    }
  }

  /** Parses a backup's name; undefined for names of other files. */
  #partsOf(name: string): Pick<NamedFile, 'createdAt' | 'label'> | undefined {
    if (!name.startsWith(this.#prefix) || !name.endsWith(suffix)) return undefined;
    const [, hour, minute, second, label = null] =
      nameForm.exec(name.slice(this.#prefix.length, -suffix.length)) ?? [];
    const at = Date.parse(`${hour}:${minute}:${second}Z`);
    return Number.isNaN(at) ? undefined : { createdAt: at, label };
  }
}

function ifMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
