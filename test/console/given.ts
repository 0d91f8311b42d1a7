/** Setup for console tests. */
import { afterAll, afterEach, expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { browserCommand } from '../support/browser.ts';
import { startConsole, type TestConsole } from '../support/console.ts';
import { testWith } from '../support/requirements.ts';
import { until } from '../support/wait.ts';

export const testInBrowser = testWith({ name: 'Chromium', package: 'chromium' }, [
  browserCommand,
  '--version',
]);

/** The console for the tests of a file, started on first use. After each test, checks that no page had an error. */
export function consoleOfTests(settings?: Readonly<Record<string, string>>): () => Promise<TestConsole> {
  let started: Promise<TestConsole> | undefined;
  afterEach(async () => {
    expect(await (await started)?.closePages()).toBeOneOf([undefined, []]);
  });
  afterAll(async () => (await started)?.[Symbol.asyncDispose]());
  return () => {
    started ??= startConsole(settings);
    return started;
  };
}

/** Text of the focused element. */
export async function focused(page: Page): Promise<string> {
  const text = await page
    .locator(':focus')
    .innerText()
    .catch(() => '');
  return text.trim();
}

/** Presses Tab until the element with this text has the focus. */
export async function tabTo(page: Page, text: string): Promise<void> {
  await until(async () => {
    await page.keyboard.press('Tab');
    return (await focused(page)) === text;
  });
}

/** Ends the session of a page once no request is pending, so that the next request is the first that is refused. */
export async function endSession(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle');
  await page.context().clearCookies();
}
