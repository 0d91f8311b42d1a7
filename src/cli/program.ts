/** The whole command line: every command, argument, option and example. What a command does is loaded when it runs. */
import type { Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { type Config, readConfig, settings } from '../config.ts';
import {
  addCommand,
  addGroup,
  addHelp,
  formatOption,
  jsonOption,
  newProgram,
  planChoice,
  quotaOptions,
} from './command.ts';
import { shellWord } from './terminal.ts';
import { count, duration, durationOrNever, durationOrNow, label, storeUrl } from './values.ts';

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

const atOnce =
  'A process that serves the store honours it on the next request; each of several instances does within 1 s.';

function addServe(program: Command, config: ReadConfig, environment: Environment): void {
  addCommand(program, 'serve', {
    summary: 'Answer requests until SIGTERM, SIGINT or SIGHUP; another one a second later ends it at once.',
    examples: ['animal-store serve', 'PORT=8080 DATABASE_URL=sqlite:./store/animals.db animal-store serve'],
    notes: [
      'Settings, with their defaults:',
      ...Object.entries(settings).map(
        ([name, { default: value, about }]) => `  ${name}=${value}\n      ${about}`,
      ),
    ],
  }).action(async () => {
    // Before anything is loaded: a wrong setting is the commonest reason not to start.
    const checked = config();
    const { serve } = await import('./serve.ts');
    await serve(checked, environment.npm_command === 'exec', commandOf(environment));
  });
}

/** How to call this command line again. */
function commandOf({ npm_command: npm }: Environment): string {
  if (npm !== undefined) return 'npx animal-store';
  // Bun would run what a bunfig.toml of the working directory names.
  return [process.execPath, '--config=/dev/null', process.argv[1] ?? ''].map(shellWord).join(' ');
}

function addAccounts(program: Command, config: ReadConfig): void {
  const accounts = addGroup(program, 'accounts', 'Accounts: who is counted, and by which plan.');
  const create = addCommand(accounts, 'create', {
    summary: 'Make an account.',
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
    summary: 'Give an account another plan.',
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
  const keys = addGroup(program, 'keys', 'API keys: issue, list, rotate and revoke them.');
  addCreateKey(keys, config);
  addCommand(keys, 'list', {
    summary: 'List all keys, by their last four characters; nobody can show a whole key again.',
    examples: ['animal-store keys list', 'animal-store keys list --json'],
  })
    .addOption(jsonOption())
    .action(async (options) => (await import('./keys.ts')).listKeys(config(), options));

  addCommand(keys, 'rotate', {
    summary: 'Make a new key in place of an old one, which goes on for a while.',
    examples: ['animal-store keys rotate 3', 'animal-store keys rotate 3 --grace 0'],
    notes: [
      'The new key is shown only once. It is of the same account, so its limits stay what they are.',
      atOnce,
    ],
  })
    .argument('<key-id>', 'id of the old key', count)
    .option(
      '--grace <duration>',
      'how long the old key goes on: 30s, 15m, 24h, 90d; 0 ends it now',
      durationOrNow,
      86_400_000,
    )
    .option(
      '--expires-in <duration>',
      'how long the new key lives, or never; without it, as long as the old one was given',
      durationOrNever,
    )
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./keys.ts')).rotateKey(config(), id, options));

  addCommand(keys, 'revoke', {
    summary: 'End a key now and for ever.',
    examples: ['animal-store keys revoke 3'],
    notes: [atOnce],
  })
    .argument('<key-id>', 'id of the key', count)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./keys.ts')).revokeKey(config(), id, options));
}

function addCreateKey(keys: Command, config: ReadConfig): void {
  const create = addCommand(keys, 'create', {
    summary: 'Issue a key for an account, or for a new account of a plan.',
    examples: [
      'animal-store keys create --account 2 --name website --expires-in 90d',
      'animal-store keys create --plan free --name trial --json',
    ],
    notes: [
      'The key is shown only once: the store keeps its SHA-256 and its last four characters.',
      'A new account made with --plan bears the name of its key.',
    ],
  })
    .option('--account <account-id>', 'id of the account the key is for', count)
    .option('--plan <plan>', `instead of --account: make an account with this ${planChoice}`)
    .option('--name <name>', 'name of the key, to tell it from others', label, 'unnamed')
    .option('--expires-in <duration>', 'when it ends: 30s, 15m, 24h, 90d; without it, never', duration)
    .addOption(jsonOption())
    .action(async (options) => (await import('./keys.ts')).createKey(config(), options));
  for (const option of quotaOptions()) create.addOption(option);
}

function addBans(program: Command, config: ReadConfig): void {
  const bans = addGroup(program, 'bans', 'Keys banned for a while, for calling on after 429.');
  addCommand(bans, 'list', {
    summary: 'List the keys that are banned now.',
    examples: ['animal-store bans list', 'animal-store bans list --json'],
    notes: ['LEVEL is how many bans in a row came before this one; each lasts twice as long as the last.'],
  })
    .addOption(jsonOption())
    .action(async (options) => (await import('./bans.ts')).listBans(config(), options));

  addCommand(bans, 'lift', {
    summary: "End a ban, and forget the key's strikes and level.",
    examples: ['animal-store bans lift 3'],
    notes: [atOnce],
  })
    .argument('<key-id>', 'id of the key', count)
    .addOption(jsonOption())
    .action(async (id, options) => (await import('./bans.ts')).liftBan(config(), id, options));
}

function addImport(program: Command, config: ReadConfig): void {
  addCommand(program, 'import', {
    summary: 'Add the animals of a CSV or NDJSON file, also while the store is served.',
    examples: [
      'animal-store import pets.csv',
      'animal-store import pets.csv --rejects rejects.csv',
      'zcat pets.ndjson.gz | animal-store import - --format ndjson',
    ],
    notes: [
      'Columns (in a header row, any order) or members: name, categoryId and, unless it is "available", status.',
      'Every row is checked as the API checks it. Rows that are not in order are rejected with their line and',
      'reason and the others are added; the exit code is 0, the report says how many. Blank lines are passed over.',
      '',
      '--rejects writes the rejected rows as they were, in the format of the input, with line and reason in front.',
      'Repair them in that file and import it: line and reason are passed over.',
      '',
      'Rows are committed in groups together with how far the file is dealt with. So an import that was broken',
      'off goes on behind the last committed line when the same file is imported again, and a file that is all in',
      'adds nothing: every row is in exactly once. A file is known by its content (SHA-256), not by its name.',
      'Standard input cannot be read twice, so it cannot be resumed: the report names the last line dealt with,',
      'and --from-line goes on behind it.',
    ],
  })
    .argument('<file>', 'FILE.csv or FILE.ndjson, or - for standard input')
    .addOption(formatOption("unless the file's name says it"))
    .option('--rejects <file>', 'write all rejected rows there; without it, the first 20 are shown')
    .option('--force', 'replace the file of --rejects if there is one')
    .option('--dry-run', 'read and check everything, write nothing to the store')
    .option('--again', 'add a file once more that is all in already')
    .option('--from-line <number>', 'pass over the lines before this one (CSV: but for the header)', count)
    .addOption(jsonOption())
    .action(async (file, options) => (await import('./import.ts')).importPets(config(), file, options));
}

function addExport(program: Command, config: ReadConfig): void {
  addCommand(program, 'export', {
    summary: 'Write all animals to a CSV or NDJSON file, by ascending id, also while the store is served.',
    examples: [
      'animal-store export pets.csv',
      'animal-store export - --format ndjson | gzip > pets.ndjson.gz',
    ],
    notes: [
      'Columns or members: name, categoryId, status, as import reads them; CSV is quoted by RFC 4180.',
      'Every animal there was at the start is in exactly once. The file appears under its name when it is whole.',
      '',
      'A spreadsheet runs a name such as "=1+1" as a formula. --escape-formulas puts an apostrophe before such names;',
      'without it, names are exported exactly, and an import of the file restores them.',
    ],
  })
    .argument('<file>', 'FILE.csv or FILE.ndjson, or - for standard output')
    .addOption(formatOption("unless the file's name says it"))
    .option('--force', 'replace the file if there is one')
    .option('--escape-formulas', 'CSV only: keep spreadsheets from running names as formulas')
    .addOption(jsonOption())
    .action(async (file, options) => (await import('./export.ts')).exportPets(config(), file, options));
}

function addCopy(program: Command, environment: Environment): void {
  addCommand(program, 'copy', {
    summary: 'Copy a store to another engine: accounts, keys, imports and animals, with all their ids.',
    examples: [
      'animal-store copy --from sqlite:./data/animal-store.db --to postgres://store@db.example.com/animals',
      'FROM_DATABASE_URL=postgres://store:PASSWORD@db.example.com/animals animal-store copy --to sqlite:./data/back.db',
    ],
    notes: [
      'Give an address that has a password in the environment: other users see the arguments of a command.',
      '',
      'Stop the service first: a SQLite store that is served is refused, and what is written to PostgreSQL while',
      'it is copied may be missing. In the end both sides are read whole and compared, by count and SHA-256.',
      'The target has to be empty, or hold what a copy of the same source left when it was broken off: the same',
      'command goes on from there. API keys go on working. Counts of requests and bans begin anew.',
    ],
  })
    .option('--from <url>', 'the store to copy: sqlite:PATH or postgres://…; else FROM_DATABASE_URL')
    .option('--to <url>', 'where to: sqlite:PATH or postgres://…; else TO_DATABASE_URL')
    .addOption(jsonOption())
    .action(async ({ json, ...options }) => {
      const from = storeUrl('--from', options.from, 'FROM_DATABASE_URL', environment);
      const to = storeUrl('--to', options.to, 'TO_DATABASE_URL', environment);
      await (await import('./copy.ts')).copyStore({ from, to, json });
    });
}

function addOpenapi(program: Command, config: ReadConfig): void {
  addCommand(program, 'openapi', {
    summary: 'Print the OpenAPI document, as the service sends it at /openapi.json.',
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
