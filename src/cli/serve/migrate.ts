import type { Command } from 'commander';
import { addCommand, jsonOption, type ReadConfig } from '../command.ts';
import { printJson, printLine } from '../terminal.ts';

export function addMigrateCommand(program: Command, config: ReadConfig): void {
  addCommand(program, 'migrate', {
    summary: 'Upgrade the store to the format of this version, without starting the service.',
    examples: ['animal-store backup before-upgrade.backup && animal-store migrate'],
    notes: [
      'Only "serve" and this command upgrade a store. All other commands except "backup" reject a store of an older version',
      'and leave it unchanged. An upgrade cannot be undone, so create a backup first (with PostgreSQL, using pg_dump).',
      '',
      'An embedded store must not be in use. With PostgreSQL, instances of an older version can keep running, but cannot',
      'be restarted.',
    ],
  })
    .addOption(jsonOption())
    .action(async ({ json }) => {
      const checked = config();
      const { openAdminServices } = await import('../../app/app.ts');
      // Opening the store reports the former format, if it is upgraded.
      await using admin = await openAdminServices(checked, undefined, { migrates: true });
      const { format = null } = await admin.storage.facts();
      if (json) printJson({ format });
      else printLine(`The store has format ${format}, the newest format that this version supports.`);
    });
}
