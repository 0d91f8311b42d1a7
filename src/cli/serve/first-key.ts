import { closeSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { createFile, createFolder } from '../../app/app.ts';
import { basePath } from '../../contract/operations.ts';
import type { IssuedKey } from '../../operations/admin/keys.ts';
import { errorMessage, printLine, quoteForShell, styleIfSupported } from '../terminal.ts';

/** The file for the first API key, which is written before the service listens. */
export class FirstKeyFile {
  readonly path: string;
  /** Reason why the file could not be written. */
  failure: string | undefined;

  readonly #log: Logger;

  constructor(databaseUrl: string, log: Logger) {
    this.path = firstKeyPath(databaseUrl);
    this.#log = log;
  }

  readonly keep = ({ key }: IssuedKey): void => {
    try {
      writePrivate(this.path, `${key}\n`);
      // The key is not announced if the startup fails later.
      this.#log.info({ file: this.path }, 'wrote the first API key to a file that only its owner can read');
    } catch (error) {
      this.failure = errorMessage(error);
    }
  };
}

/**
 * Prints the first API key only to a terminal, because other readers of standard output, such as container logs, would
 * store the key. Otherwise, prints the name of its file.
 */
export function announceFirstKey(
  { key, accountId }: IssuedKey,
  url: string,
  file: FirstKeyFile | undefined,
  command: string,
): void {
  const here = inCurrentFolder(command);
  printLine();
  if (file === undefined) {
    printLine('Created a new store. Its first API key (plan free), shown only once:');
    printLine(`  ${styleIfSupported('bold', key)}`);
    printExample(key, url);
  } else if (file.failure === undefined) {
    printLine(
      `Created a new store. Its first API key (plan free) is in ${file.path}; copy the key, then delete the file.`,
    );
    printExample(`$(cat ${quoteForShell(file.path)})`, url);
  } else {
    printLine(`Created a new store, but could not write its first API key to ${file.path}: ${file.failure}.`);
    printLine("Create another key, with the service's settings:");
    printLine(`  ${here} keys create --account ${accountId} --scopes all`);
  }
  printLine("Manage accounts and keys, with the service's settings:");
  printLine(`  ${here} --help`);
}

export function inCurrentFolder(command: string): string {
  return `cd ${quoteForShell(process.cwd())} && ${command}`;
}

function printExample(key: string, url: string): void {
  printLine('Try it:');
  printLine(`  curl -H "Authorization: Bearer ${key}" ${url}${basePath}/pets`);
}

/**
 * Path of the file for the first API key. For an embedded store, the file is next to the store. For a store on a
 * server, the file is in the `data` folder and is named after the host and the database.
 */
export function firstKeyPath(databaseUrl: string): string {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(databaseUrl)?.[1]?.trim();
  return resolve(`${path ?? join('data', serverName(databaseUrl))}.first-key`);
}

function serverName(databaseUrl: string): string {
  const { hostname, pathname } = new URL(databaseUrl);
  return `${hostname}${decodeURIComponent(pathname)}`.replace(/[^\w.-]+/g, '-');
}

function writePrivate(file: string, text: string): void {
  createFolder(dirname(file));
  rmSync(file, { force: true });
  const opened = createFile(file, 0o600);
  try {
    writeFileSync(opened, text);
  } finally {
    closeSync(opened);
  }
}
