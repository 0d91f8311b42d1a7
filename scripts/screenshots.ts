/**
 * Takes screenshots of every page of the console, using a real service under load: into docs/screenshots those that
 * documents show, and all others into screenshots, which is not committed. Arguments select screenshots by name; by
 * default, all are taken. Takes several minutes.
 */
import { mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { startConsole, type TestConsole } from '../test/support/console.ts';
import { startClients } from './screenshots/clients.ts';
import { referencedScreenshots } from './screenshots/referenced.ts';
import { openShop } from './screenshots/shop.ts';

const folders = {
  shown: fileURLToPath(new URL('../docs/screenshots/', import.meta.url)),
  others: fileURLToPath(new URL('../screenshots/', import.meta.url)),
};
const shown = await referencedScreenshots();

const sizes = {
  390: { width: 390, height: 844 },
  1280: { width: 1_280, height: 860 },
  1920: { width: 1_920, height: 1_080 },
} as const;

type Width = keyof typeof sizes;
type Theme = 'light' | 'dark';

/** Paths of the console pages, by screenshot name. */
const places = {
  overview: '/',
  history: '/?span=week',
  accounts: '/accounts',
  account: '/accounts/2',
  key: '/keys/2',
  usage: '/usage?span=month',
  bans: '/bans',
  animals: '/animals',
  import: '/animals/import',
  categories: '/categories',
  orders: '/orders',
  events: '/events',
  webhooks: '/webhooks',
  webhook: '/webhooks/1',
  audit: '/audit',
  operators: '/operators',
  system: '/system',
} as const;

interface Picture {
  readonly name: string;
  readonly place: string;
  readonly width: Width;
  readonly theme: Theme;
  /** Button that opens the dialog shown in the screenshot. */
  readonly press?: string;
}

/** Calls `view` for every width, in both themes. */
function everyView<T>(view: (width: Width, theme: Theme) => T): T[] {
  const widths = [390, 1280, 1920] as const;
  return widths.flatMap((width) => [view(width, 'light'), view(width, 'dark')]);
}

/** Names of the selected screenshots; undefined to take all. */
const wanted = process.argv.length > 2 ? new Set(process.argv.slice(2)) : undefined;
const isWanted = (name: string) => wanted?.has(name) ?? true;

const pictures: readonly Picture[] = [
  ...Object.entries(places).flatMap(([name, place]) =>
    everyView((width, theme) => ({ name, place, width, theme })),
  ),
  { name: 'issue-key', place: '/accounts/2', width: 1280, theme: 'light', press: 'Issue key' },
  { name: 'close-account', place: '/accounts/3', width: 1280, theme: 'dark', press: 'Close account' },
];

/** How long clients run before the first screenshot, so that the plots have data. */
const workMs = 150_000;

await using console = await startConsole({ BAN_STRIKES: '20' });
const shop = await openShop(console);
const work = startClients(console.apiUrl, shop.keys);
await Bun.sleep(workMs);
for (const folder of Object.values(folders)) {
  if (wanted === undefined) await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
}
for (const picture of pictures.filter(({ name }) => isWanted(name))) await take(console, shop.token, picture);
if (isWanted('sign-in'))
  for (const view of everyView((width, theme) => ({ width, theme }))) await takeSignIn(console, view);
await work.stop();

function pathOf(file: string): string {
  return (shown.has(file) ? folders.shown : folders.others) + file;
}

async function take({ signedIn, closePages }: TestConsole, token: string, picture: Picture): Promise<void> {
  const { name, place, width, theme, press } = picture;
  const page = await signedIn(token, place, { viewport: sizes[width], colorScheme: theme });
  await page.locator('.waiting').first().waitFor({ state: 'detached' });
  if (press !== undefined) {
    await page.getByRole('button', { name: press }).first().click();
    await page.getByRole('dialog').waitFor();
  }
  // The events page always has a pending request for the next event, so the network never becomes idle.
  if (place === places.events) await page.getByRole('table').waitFor();
  else await page.waitForLoadState('networkidle');
  await page.screenshot({ path: pathOf(`${name}-${width}-${theme}.png`) });
  await closePages();
}

async function takeSignIn(
  { url, openPage, closePages }: TestConsole,
  { width, theme }: Pick<Picture, 'width' | 'theme'>,
): Promise<void> {
  const page = await openPage({ viewport: sizes[width], colorScheme: theme });
  await page.goto(url);
  await page.getByLabel('Token').waitFor();
  await page.screenshot({ path: pathOf(`sign-in-${width}-${theme}.png`) });
  await closePages();
}
