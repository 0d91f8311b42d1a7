import { closeSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createFile, makeFolder } from '../../app/app.ts';
import { basePath } from '../../contract/operations.ts';
import type { IssuedKey } from '../../operations/admin/keys.ts';
import { messageOf, printLine, shellWord, styled } from '../terminal.ts';

/**
 * Prints the first API key only to a terminal, because other readers of standard output, such as container logs, would
 * store the key.
 */
export function announceFirstKey(
  { key, accountId }: IssuedKey,
  url: string,
  databaseUrl: string,
  command: string,
): void {
  const here = inThisFolder(command);
  printLine();
  if (process.stdout.isTTY === true) {
    printLine('Created a new store. Its first API key (plan free), shown only once:');
    printLine(`  ${styled('bold', key)}`);
    printExample(key, url);
  } else {
    const file = firstKeyFile(databaseUrl);
    try {
      writePrivate(file, `${key}\n`);
      printLine(
        `Created a new store. Its first API key (plan free) is in ${file}; copy the key, then delete the file.`,
      );
      printExample(`$(cat ${shellWord(file)})`, url);
    } catch (error) {
      printLine(
        `Created a new store, but could not write its first API key to ${file}: ${messageOf(error)}.`,
      );
      printLine("Create another key, using the service's settings:");
      printLine(`  ${here} keys create --account ${accountId} --scopes all`);
    }
  }
  printLine("Manage accounts and keys, using the service's settings:");
  printLine(`  ${here} --help`);
}

export function inThisFolder(command: string): string {
  return `cd ${shellWord(process.cwd())} && ${command}`;
}

function printExample(key: string, url: string): void {
  printLine('Try it:');
  printLine(`  curl -H "Authorization: Bearer ${key}" ${url}${basePath}/pets`);
}

/**
 * Path of the file for the first API key. For an embedded store, the file is next to the store. For a store on a
 * server, the file is in the `data` folder and is named after the host and the database.
 */
export function firstKeyFile(databaseUrl: string): string {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(databaseUrl)?.[1]?.trim();
  return resolve(`${path ?? join('data', serverName(databaseUrl))}.first-key`);
}

function serverName(databaseUrl: string): string {
  const { hostname, pathname } = new URL(databaseUrl);
  return `${hostname}${decodeURIComponent(pathname)}`.replace(/[^\w.-]+/g, '-');
}

function writePrivate(file: string, text: string): void {
  makeFolder(dirname(file));
  rmSync(file, { force: true });
  const opened = createFile(file, 0o600);
  try {
    writeFileSync(opened, text);
  } finally {
    closeSync(opened);
  }
}
