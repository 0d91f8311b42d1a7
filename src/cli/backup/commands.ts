import type { Command } from 'commander';
import { addCommand, jsonOption, type ReadConfig } from '../command.ts';

export function addBackup(program: Command, config: ReadConfig): void {
  const backup = addCommand(program, 'backup', {
    summary: 'Back up an embedded store to one file. The service can keep running.',
    examples: [
      'animal-store backup /backups/friday.backup',
      'animal-store backup latest.backup --replace',
      'animal-store backup verify /backups/friday.backup',
    ],
    notes: [
      'The file contains everything: animals, orders, categories, accounts, keys, operators, audit log, usage, and',
      'the request counts and bans. Everything that was acknowledged before the command began is in it. It appears',
      'under its name when it is complete and on the disk, and only its owner can read it (mode 0600).',
      '',
      'For PostgreSQL, use its own tools: see docs/backup.md.',
    ],
  })
    .argument('<file>', 'file to create')
    .option('--replace', 'replace the file if it is a backup')
    .addOption(jsonOption())
    .action(async (file, options) => (await import('./backup.ts')).backUp(config(), file, options));

  addCommand(backup, 'verify', {
    summary: 'Verify a backup, or the store itself, from end to end.',
    examples: ['animal-store backup verify friday.backup', 'animal-store backup verify --json'],
    notes: [
      'A backup is sound if no bit has changed since it was made (SHA-256), its tables and indexes are in order, and',
      'its rows and its limit state are those that were noted. Of a store its format is read and its rows are',
      'counted; an embedded one is also checked for damage. Nothing is changed.',
      '',
      'Exit code: 0 sound, 1 damaged, unreadable or no backup.',
    ],
  })
    .argument('[file]', 'the backup, or a data file (default: the store of DATABASE_URL)')
    .addOption(jsonOption())
    // Commander gives what both commands have to the one above.
    .action(async (file, _options, command: Command) =>
      (await import('./backup.ts')).verifyBackup(config(), file, command.optsWithGlobals()),
    );
}

export function addRestore(program: Command, config: ReadConfig): void {
  addCommand(program, 'restore', {
    summary: 'Restore a backup as an embedded store. Stop the service first.',
    examples: [
      'animal-store restore friday.backup --replace',
      'animal-store restore friday.backup --to ./drill/animal-store.db',
    ],
    notes: [
      'The backup is copied and verified, then it takes the place of the store in one step: if the command is',
      'interrupted, the old store is there, or the new one. Nothing of a store that is replaced is kept.',
      '',
      'Counts and bans come back as they were. Keys that were revoked after the backup are valid again: revoke them',
      'again. Operators have to sign in again.',
    ],
  })
    .argument('<file>', 'the backup')
    .option('--to <path>', 'data file to restore to (default: that of DATABASE_URL)')
    .option('--replace', 'replace the store that is there')
    .addOption(jsonOption())
    .action(async (file, options) => (await import('./restore.ts')).restore(config(), file, options));
}
