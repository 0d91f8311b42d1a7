/** The whole command line: every command, argument, option and example. What a command does is loaded when it runs. */
import type { Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { type Config, readConfig, settings } from '../config.ts';
import {
  addCommand,
  addGroup,
  addHelp,
  formatOption,
  graceOption,
  jsonOption,
  newProgram,
  planChoice,
  quotaOptions,
} from './command.ts';
import { shellWord } from './terminal.ts';
import { count, duration, durationOrNever, label, storeUrl } from './values.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

type ReadConfig = () => Config;

/**
 * The parser; running a command throws what its function throws, or `CommanderError` for wrong use, which it also
 * writes to standard error unless it is silent.
 */
export function programOf(environment: Environment, isSilent = false): Command {
  const program = newProgram(packageJson.version, isSilent);
  const config = () => readConfig(environment);
  addServe(program, config, environment);
  addAccounts(program, config);
  addKeys(program, config);
  addBans(program, config);
  addImport(program, config);
  addExport(program, config);
  addCopy(program, environment);
  addOpenapi(program, config);
  addHelp(program);
  return program;
}

const atOnce = 'Takes effect on the next request; with several instances, within 1 s.';

function addServe(program: Command, config: ReadConfig, environment: Environment): void {
  addCommand(program, 'serve', {
    summary: 'Start the HTTP server.',
    examples: ['animal-store serve', 'PORT=8080 DATABASE_URL=sqlite:./store/animals.db animal-store serve'],
    notes: [
      'Stops gracefully on SIGINT, SIGTERM or SIGHUP. A second signal, at least 1 s later, stops it immediately.',
      '',
      'Settings and their defaults:',
      ...Object.entries(settings).map(
        ([name, { default: value, about }]) => `  ${name}=${value}\n      ${about}`,
      ),
    ],
  }).action(async () => {
    // Before anything is loaded: a wrong setting is the commonest reason not to start.
    const checked = config();
    const { serve } = await import('./serve.ts');
    const startedByNpx = environment.npm_command === 'exec';
    await serve(checked, { environment, startedByNpx, command: commandOf(environment) });
  });
}

/** How to call this command line again. */
function commandOf({ npm_command: npm }: Environment): string {
  if (npm !== undefined) return 'npx animal-store';
  // Bun would run what a bunfig.toml of the working directory names.
  return [process.execPath, '--config=/dev/null', process.argv[1] ?? ''].map(shellWord).join(' ');
}

function addAccounts(program: Command, config: ReadConfig): void {
  const accounts = addGroup(program, 'accounts', 'Manage accounts and their plans.');
  const create = addCommand(accounts, 'create', {
    summary: 'Create an account.',
    examples: [
      'animal-store accounts create --name "Seattle shop" --plan pro',
      'animal-store accounts create --name Partner --plan enterprise --per-minute 5000 --per-day 1000000 --json',
    ],
  })
    .requiredOption('--name <name>', 'name of the account', label)
    .requiredOption('--plan <plan>', planChoice)
    .addOption(jsonOption())
    .action(async (options) => (await import('./accounts.ts')).createAccount(config(), options));

  addCommand(accounts, 'list', {
    summary: 'List all accounts.',
    examples: ['animal-store accounts list', 'animal-store accounts list --json'],
  })
    .addOption(jsonOption())
    .action(async (options) => (await import('./accounts.ts')).listAccounts(config(), options));

  const setPlan = addCommand(accounts, 'set-plan', {
    summary: "Change an account's plan.",
    examples: [
      'animal-store accounts set-plan 2 business',
      'animal-store accounts set-plan 2 enterprise --per-minute 5000 --per-day 1000000',
    ],
    notes: [atOnce],
  })
    .argument('<account-id>', 'id of the account', count)
    .argument('<plan>', planChoice)
    .addOption(jsonOption())
    .action(async (id, plan, options) =>
      (await import('./accounts.ts')).setPlan(config(), id, plan, options),
    );
  for (const option of quotaOptions()) {
    create.addOption(option);
    setPlan.addOption(option);
  }
}

function addKeys(program: Command, config: ReadConfig): void {
  const keys = addGroup(program, 'keys', 'Manage API keys.');
  addCreateKey(keys, config);
  addCommand(keys, 'list', {
    summary: 'List all keys. Only the last four characters of each are shown.',
    examples: ['animal-store keys list', 'animal-store keys list --json'],
  })
    .addOption(jsonOption())
    .action(async (options) => (await import('./keys.ts')).listKeys(config(), options));

  addCommand(keys, 'rotate', {
    summary: 'Replace a key. The old one keeps working for a grace period.',
    examples: ['animal-store keys rotate 3', 'animal-store keys rotate 3 --grace 0'],
    notes: ['The new key is shown only once. It belongs to the same account and shares its limits.', atOnce],
  })
    .argument('<key-id>', 'id of the old key', count)
    .addOption(graceOption())
    .option(
      '--expires-in <duration>',
      'lifetime of the new key, or never (default: the lifetime of the old key)',
      durationOrNever,
    )
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./keys.ts')).rotateKey(config(), id, options));

  addCommand(keys, 'revoke', {
    summary: 'Revoke a key permanently.',
    examples: ['animal-store keys revoke 3'],
    notes: [atOnce],
  })
    .argument('<key-id>', 'id of the key', count)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./keys.ts')).revokeKey(config(), id, options));
}

function addCreateKey(keys: Command, config: ReadConfig): void {
  const create = addCommand(keys, 'create', {
    summary: 'Create an API key, for an existing account or a new one.',
    examples: [
      'animal-store keys create --account 2 --name website --expires-in 90d',
      'animal-store keys create --plan free --name trial --json',
    ],
    notes: [
      'The key is shown only once. The store keeps only its SHA-256 hash and last four characters.',
      'An account created with --plan gets the name of its key.',
    ],
  })
    .option('--account <account-id>', 'id of an existing account', count)
    .option('--plan <plan>', `instead of --account: create an account with this ${planChoice}`)
    .option('--name <name>', 'name of the key', label, 'unnamed')
    .option(
      '--expires-in <duration>',
      'lifetime of the key, such as 30s, 15m, 24h or 90d (default: never expires)',
      duration,
    )
    .addOption(jsonOption())
    .action(async (options) => (await import('./keys.ts')).createKey(config(), options));
  for (const option of quotaOptions()) create.addOption(option);
}

function addBans(program: Command, config: ReadConfig): void {
  const bans = addGroup(
    program,
    'bans',
    'Manage temporary bans of keys that kept sending requests after 429.',
  );
  addCommand(bans, 'list', {
    summary: 'List banned keys.',
    examples: ['animal-store bans list', 'animal-store bans list --json'],
    notes: [
      'LEVEL is the number of consecutive bans before this one. Each ban lasts twice as long as the one before.',
    ],
  })
    .addOption(jsonOption())
    .action(async (options) => (await import('./bans.ts')).listBans(config(), options));

  addCommand(bans, 'lift', {
    summary: "Lift a ban and reset the key's strikes and ban level.",
    examples: ['animal-store bans lift 3'],
    notes: [atOnce],
  })
    .argument('<key-id>', 'id of the key', count)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./bans.ts')).liftBan(config(), id, options));
}

function addImport(program: Command, config: ReadConfig): void {
  addCommand(program, 'import', {
    summary: 'Import animals from a CSV or NDJSON file. The service can keep running.',
    examples: [
      'animal-store import pets.csv',
      'animal-store import pets.csv --rejects rejects.csv',
      'zcat pets.ndjson.gz | animal-store import - --format ndjson',
    ],
    notes: [
      'Fields: name, categoryId and, optionally, status (default: available). A CSV file starts with a header row,',
      'with the columns in any order. Blank lines are skipped.',
      '',
      'Rows are validated like API requests. Invalid rows are rejected, with line and reason; valid rows are',
      'imported. Rejected rows are reported and do not change the exit code.',
      '',
      'To correct rejected rows, save them with --rejects, edit that file and import it. It has the format of the',
      'input, plus the fields line and reason, which import ignores.',
      '',
      'An interrupted import resumes where it stopped when you run it again, and a file that is already imported',
      'is not imported twice. Files are identified by content (SHA-256), not by name. An import from standard',
      'input cannot resume by itself: the report shows the last line imported; continue with --from-line.',
    ],
  })
    .argument('<file>', 'FILE.csv or FILE.ndjson, or - for standard input')
    .addOption(formatOption())
    .option('--rejects <file>', 'save rejected rows to this file (default: print the first 20)')
    .option('--force', 'replace the --rejects file if it exists')
    .option('--dry-run', 'validate the file without importing it')
    .option('--again', 'import the file even if it is already imported')
    .option('--from-line <number>', 'skip the lines before this one (except the CSV header)', count)
    .addOption(jsonOption())
    .action(async (file, options) => (await import('./import.ts')).importPets(config(), file, options));
}

function addExport(program: Command, config: ReadConfig): void {
  addCommand(program, 'export', {
    summary: 'Export all animals to a CSV or NDJSON file, by ascending id. The service can keep running.',
    examples: [
      'animal-store export pets.csv',
      'animal-store export - --format ndjson | gzip > pets.ndjson.gz',
    ],
    notes: [
      'Fields: name, categoryId, status, in the format that import reads. CSV follows RFC 4180.',
      'The export contains every animal that existed when it started, exactly once. The file appears under its',
      'name only when it is complete.',
      '',
      'Spreadsheets run a name such as "=1+1" as a formula. --escape-formulas puts an apostrophe before such names.',
      'Do not use it for a file that you want to import again.',
    ],
  })
    .argument('<file>', 'FILE.csv or FILE.ndjson, or - for standard output')
    .addOption(formatOption())
    .option('--force', 'replace the file if it exists')
    .option('--escape-formulas', 'CSV only: prevent spreadsheets from running names as formulas')
    .addOption(jsonOption())
    .action(async (file, options) => (await import('./export.ts')).exportPets(config(), file, options));
}

function addCopy(program: Command, environment: Environment): void {
  addCommand(program, 'copy', {
    summary: 'Copy a store to another database (SQLite or PostgreSQL), keeping all ids.',
    examples: [
      'animal-store copy --from sqlite:./data/animal-store.db --to postgres://store@db.example.com/animals',
      'FROM_DATABASE_URL=postgres://store:PASSWORD@db.example.com/animals animal-store copy --to sqlite:./data/back.db',
    ],
    notes: [
      'Stop the service first. A SQLite store that is in use is refused; rows written to PostgreSQL during the copy',
      'may be missing. The target must be empty, or contain an interrupted copy of the same source, which resumes.',
      '',
      'Copies accounts, API keys, import progress and animals, then verifies both sides by row count and SHA-256.',
      'API keys keep working. Request counts and bans are not copied.',
      '',
      'If an address contains a password, set it in the environment: other users can see command arguments.',
    ],
  })
    .option('--from <url>', 'store to copy: sqlite:PATH or postgres://… (default: FROM_DATABASE_URL)')
    .option('--to <url>', 'target: sqlite:PATH or postgres://… (default: TO_DATABASE_URL)')
    .addOption(jsonOption())
    .action(async ({ json, ...options }) => {
      const from = storeUrl('--from', options.from, 'FROM_DATABASE_URL', environment);
      const to = storeUrl('--to', options.to, 'TO_DATABASE_URL', environment);
      await (await import('./copy.ts')).copyStore({ from, to, json });
    });
}

function addOpenapi(program: Command, config: ReadConfig): void {
  addCommand(program, 'openapi', {
    summary: 'Print the OpenAPI document that the service sends at /openapi.json.',
    examples: ['animal-store openapi > openapi.json'],
  }).action(async () => {
    const [{ listeningAddress }, { openapiText }, { say }] = await Promise.all([
      import('../app.ts'),
      import('./openapi.ts'),
      import('./terminal.ts'),
    ]);
    const checked = config();
    say(openapiText(checked, listeningAddress(checked.host, checked.port)));
  });
}
