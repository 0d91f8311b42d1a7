/** Checks of pages in a browser with axe. */
import type { Page } from 'playwright-core';

export const themes = ['light', 'dark'] as const;
type Theme = (typeof themes)[number];

const axe = await Bun.file(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir)).text();

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}

/** Accessibility violations. The themes differ only in colors, so in the dark theme only colors are checked. */
export async function violationsOn(page: Page, theme: Theme): Promise<string[]> {
  // The script is not added as an element, because the content security policy would block it.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe);
  const rules = theme === 'dark' ? ", runOnly: ['color-contrast']" : '';
  const results = await page.evaluate<AxeResults>(`axe.run({ resultTypes: ['violations']${rules} })`);
  return results.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
