/** What is wrong with the settings of backups, given the others. */
export function backupMistakes(values: {
  readonly DATABASE_URL?: string;
  readonly BACKUP_FOLDER?: string | undefined;
  readonly BACKUP_EVERY?: number | undefined;
}): string[] {
  if (values.BACKUP_EVERY === undefined) return [];
  if (values.DATABASE_URL?.startsWith('postgres')) {
    return [
      'BACKUP_EVERY must not be set when DATABASE_URL is PostgreSQL: back that up with its own tools (docs/backup.md).',
    ];
  }
  return values.BACKUP_FOLDER === undefined
    ? ['BACKUP_FOLDER must be set when BACKUP_EVERY is: it is where backups go.']
    : [];
}
