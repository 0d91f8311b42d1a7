import type { Command } from 'commander';
import { addCommand, jsonOption, type ReadConfig } from '../command.ts';

export function addBackupCommand(program: Command, config: ReadConfig): void {
  const backup = addCommand(program, 'backup', {
    summary: 'Back up an embedded store to one file. The service can keep running.',
    examples: [
      'animal-store backup /backups/friday.backup',
      'animal-store backup latest.backup --replace',
      'animal-store backup verify /backups/friday.backup',
    ],
    notes: [
      'The file contains everything: animals, orders, categories, accounts, keys, operators, audit log, usage, and',
      'request counts and bans, with every change acknowledged before the command began. The file appears',
      'under its name only when it is complete and on disk. Only its owner can read it (mode 0600).',
      '',
      'For PostgreSQL, use its own tools: see docs/backup.md.',
    ],
  })
    .argument('<file>', 'file to create')
    .option('--replace', 'replace the file if it is a backup')
    .addOption(jsonOption())
    .action(async (file, options) => (await import('./backup.ts')).backUp(config(), file, options));

  addCommand(backup, 'verify', {
    summary: 'Fully verify a backup or the store.',
    examples: ['animal-store backup verify friday.backup', 'animal-store backup verify --json'],
    notes: [
      'A backup is intact if it is unchanged (SHA-256), its tables and indexes are consistent, and its rows and limit',
      'state match its metadata. For a store, the format is read and the rows are counted; an embedded store is also',
      'checked for damage. Nothing is changed.',
      '',
      'Exit code: 0 intact, 1 damaged, unreadable or not a backup.',
    ],
  })
    .argument('[file]', 'the backup, or a data file (default: the store of DATABASE_URL)')
    .addOption(jsonOption())
    // If a command and its parent have the same option, Commander assigns the value to the parent.
    .action(async (file, _options, command: Command) =>
      (await import('./backup.ts')).verifyBackup(config(), file, command.optsWithGlobals()),
    );
}

export function addRestoreCommand(program: Command, config: ReadConfig): void {
  addCommand(program, 'restore', {
    summary: 'Restore a backup as an embedded store. Stop the service first.',
    examples: [
      'animal-store restore friday.backup --replace',
      'animal-store restore friday.backup --to ./drill/animal-store.db',
    ],
    notes: [
      'The backup is copied and verified, then it replaces the store atomically: if the command is interrupted,',
      'either the old or the new store exists. No part of a replaced store is kept.',
      '',
      'Request counts and bans are restored. Keys that were revoked after the backup are valid again: revoke them',
      'again. Operators must sign in again.',
    ],
  })
    .argument('<file>', 'the backup')
    .option('--to <path>', 'data file to restore to (default: the file in DATABASE_URL)')
    .option('--replace', 'replace an existing store')
    .addOption(jsonOption())
    .action(async (file, options) => (await import('./restore.ts')).restore(config(), file, options));
}
