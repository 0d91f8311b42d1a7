import type { Command } from 'commander';
import {
  addCommand,
  categoryOption,
  formatOption,
  jsonOption,
  type ReadConfig,
  statusOption,
} from '../command.ts';
import { parsePositiveInteger } from '../parsers.ts';

export function addImportCommand(program: Command, config: ReadConfig): void {
  addCommand(program, 'import', {
    summary: 'Import animals from a CSV or NDJSON file. The service can keep running.',
    examples: [
      'animal-store import pets.csv',
      'animal-store import pets.csv --rejects rejects.csv',
      'animal-store import pets.csv --status available --category 3',
      'zcat pets.ndjson.gz | animal-store import - --format ndjson',
    ],
    notes: [
      'Fields: name, categoryId and, optionally, status (default: available). A CSV file starts with a header row,',
      'with the columns in any order, in upper or lower case. Empty lines after the header row are skipped. Files must',
      'be in UTF-8.',
      '',
      'CSV files of spreadsheets can be imported unchanged: the separator is the comma, semicolon or tab in the header',
      'row, or specified by a line such as "sep=;" before it. Empty cells at the end of a row are ignored. Integers',
      'may be written as 1.0, but not with an exponent, because spreadsheets round such numbers.',
      '',
      'Rows are validated like API requests. Invalid rows are rejected, with line and reason. Valid rows are',
      'imported. Rejected rows are reported. If all rows are rejected, the exit code is 1.',
      '',
      'To correct rejected rows, save them with --rejects, edit that file and import it. It has the format of the',
      'input, plus the fields line and reason, which import ignores.',
      '',
      'An interrupted import resumes where it stopped when you run it again, and a file that is already imported',
      'is not imported twice. Files are identified by content (SHA-256), not by name. An import from standard',
      'input cannot resume automatically. The report shows the last imported line; continue with --from-line.',
      '',
      'With --status or --category, other valid rows are skipped. Progress is stored separately for each such import',
      'and for the whole file. An import that would add the same rows twice is refused without --again.',
      '',
      'Ids in a file are not imported, because the store assigns ids and never reuses them. A file with ids',
      'is refused without --new-ids. To move a store with all ids, run "copy".',
    ],
  })
    .argument('<file>', 'FILE.csv or FILE.ndjson, or - for standard input')
    .addOption(formatOption())
    .option('--rejects <file>', 'save rejected rows to this file (default: print the first 20)')
    .option('--force', 'replace the --rejects file if it exists')
    .addOption(statusOption('import only animals with this status: available, pending or sold'))
    .addOption(categoryOption('import only animals in this category'))
    .option('--new-ids', 'import a file with ids; the animals get new ids')
    .option('--dry-run', 'validate the file without importing it')
    .option('--again', 'import the file even if it is already imported')
    .option(
      '--from-line <number>',
      'skip the lines before this one (except the CSV header)',
      parsePositiveInteger,
    )
    .addOption(jsonOption())
    .action(async (file, options) => (await import('./import.ts')).importPets(config(), file, options));
}

export function addExportCommand(program: Command, config: ReadConfig): void {
  addCommand(program, 'export', {
    summary:
      'Export animals to a CSV or NDJSON file, in ascending order of id. The service can keep running.',
    examples: [
      'animal-store export pets.csv',
      'animal-store export sold.csv --status sold --category 3 --ids',
      'animal-store export - --format ndjson | gzip > pets.ndjson.gz',
    ],
    notes: [
      'Fields: name, categoryId, status, in the format that import reads; with --ids, id comes first. Integers are',
      'exact. CSV follows RFC 4180. The filters can be combined.',
      'Every animal that exists throughout the export appears exactly once, with the values it had when it was',
      'read. The file appears under its name only when it is complete.',
      'From a damaged data file, --skip-damaged exports the animals that can be read, and reports the ids of the others.',
      '',
      'Spreadsheets evaluate a name such as "=1+1" as a formula. --escape-formulas prefixes such names with an apostrophe.',
      'Do not use this option for a file that you want to import again.',
    ],
  })
    .argument('<file>', 'FILE.csv or FILE.ndjson, or - for standard output')
    .addOption(formatOption())
    .option('--force', 'replace the file if it exists')
    .option('--ids', 'also write the ids')
    .addOption(statusOption('only animals with this status: available, pending or sold'))
    .addOption(categoryOption('only animals in this category'))
    .option('--escape-formulas', 'CSV only: prevent spreadsheets from evaluating names as formulas')
    .option('--skip-damaged', 'embedded stores only: skip animals in damaged parts of the data file')
    .addOption(jsonOption())
    .action(async (file, options) => (await import('./export.ts')).exportPets(config(), file, options));
}
