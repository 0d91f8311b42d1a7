/** File imports, from the preview to rejected lines. */
import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { slowWriters } from '../support/lock.ts';
import { consoleOfTests, testInBrowser } from './given.ts';

const given = consoleOfTests();

const fileOf = (name: string, text: string) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
const choose = (page: Page, file: ReturnType<typeof fileOf>) =>
  page.locator('input[type=file]').setInputFiles(file);
const rowOf = (page: Page, file: string) => page.getByRole('row').filter({ hasText: file });
const header = 'name,categoryId,status\n';

testInBrowser('an import of 66,042 animals completes even if it is stopped and resumed', async () => {
  const { storePath, signedIn, addOperator } = await given();
  const page = await signedIn(await addOperator('iris', 'admin'), '/animals/import');
  const lines = Array.from({ length: 66_042 }, (_, n) => `Animal ${n + 1},${(n % 9) + 1},available`);
  lines[99] = 'Nemo,dog,available';
  const file = fileOf('animals.csv', `${header}${lines.join('\n')}\n`);
  const others = await signedIn(await addOperator('otis', 'admin'), '/animals/import');
  const begin = async () => {
    await choose(page, file);
    await page.getByRole('button', { name: 'Import 66,042 rows' }).click();
  };
  {
    // Slows the import down, so that it can be stopped in time.
    await using _slow = slowWriters(storePath);
    await begin();
    await page.getByRole('progressbar', { name: 'Read' }).waitFor();
    // The import stays visible after a visit to another page, and other operators can see it.
    await page.getByRole('link', { name: 'Orders', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Orders' }).waitFor();
    await page.getByRole('link', { name: 'Animals' }).first().click();
    await page.getByRole('link', { name: 'Import' }).click();
    await rowOf(page, 'animals.csv').getByText('Running').waitFor();
    await rowOf(others, 'animals.csv').getByText('iris').waitFor();
    await others.getByRole('button', { name: 'Stop animals.csv' }).click();
    await page
      .getByText('before the import was stopped. To add the rest, import the same file again.')
      .waitFor();
    await rowOf(page, 'animals.csv').getByText('Stopped').waitFor();
  }
  await begin();
  await page.getByText('animals.csv: 66,041 animals added and 1 line rejected.').waitFor();
  await page.getByRole('link', { name: 'Animals' }).first().click();
  await page.getByText('Animal 66042', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Next' }).click();
  await page.getByText('Animal 66022', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Previous' }).click();
  await page.getByText('Animal 66042', { exact: true }).waitFor();
});

testInBrowser(
  'rejected lines can be downloaded, corrected and imported later by another operator',
  async () => {
    const { signedIn, addOperator } = await given();
    const page = await signedIn(await addOperator('ida', 'admin'), '/animals/import');
    await choose(page, fileOf('pets.csv', `${header}Rex,1,sold\nNemo,dog,sold\n`));
    await page.getByText('1 of 2 rows will be rejected.').waitFor();
    await page.getByRole('button', { name: 'Import 1 row' }).click();
    await page.getByText('pets.csv: 1 animal added and 1 line rejected.').waitFor();
    const later = await signedIn(await addOperator('igor', 'admin'), '/animals/import');
    await later.getByRole('button', { name: 'Rejected lines in pets.csv' }).click();
    await later.getByRole('table', { name: 'Rejected lines' }).getByText('categoryId must be').waitFor();
    const download = later.waitForEvent('download');
    await later.getByRole('button', { name: 'Download' }).click();
    const rejects = await Bun.file(await (await download).path()).text();
    expect(rejects).toMatch(/^line,reason,name,categoryId,status\n3,.*categoryId.*,Nemo,dog,sold\n$/);
    await choose(later, fileOf('mended.csv', rejects.replace(',dog,', ',7,')));
    await later.getByRole('button', { name: 'Import 1 row' }).click();
    await later.getByText('mended.csv: 1 animal added.').waitFor();
  },
);

testInBrowser(
  'a file is previewed before it is imported, and cannot be imported if its header is wrong',
  async () => {
    const { signedIn, addOperator } = await given();
    const page = await signedIn(await addOperator('pia', 'admin'), '/animals/import');
    const rows = Array.from({ length: 30 }, (_, n) => `"Pet\n${n}, ""the"" pet",${n},sold\n`).join('');
    await choose(page, fileOf('many.csv', `${header}Good,1,sold\nBad,x,sold\n${rows}`));
    await page.getByText('columns name, categoryId, status').waitFor();
    const preview = page.getByRole('table', { name: 'First rows' });
    await preview.getByText('Good').waitFor();
    await preview.getByText('categoryId must be an integer').waitFor();
    expect(await preview.getByRole('row').count()).toBe(11);
    await page.getByText(/^\d+ of the first 10 rows will be rejected\.$/).waitFor();
    await page.getByRole('button', { name: 'Import valid rows' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();

    await choose(page, fileOf('sep.csv', 'sep=;\r\nName;CategoryId;\r\nGood;1.0;\r\n'));
    await page.getByRole('button', { name: 'Import 1 row' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();

    await choose(page, fileOf('wrong.csv', 'title,age\nRex,3\n'));
    await page.getByText('The first line must be a header row').waitFor();
    expect(await page.getByRole('button', { name: /^Import 1 row/ }).isDisabled()).toBe(true);
  },
);
