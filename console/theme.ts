/** The light or dark theme, which follows the system unless it is set here. */
import { effect, signal } from '@preact/signals';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const place = 'animal-store-theme';

export const theme = signal<Theme>(stored());

/** Incremented when colors change, so that plots are redrawn. */
export const colorChanges = signal(0);

function stored(): Theme {
  const word = localStorage.getItem(place);
  return themes.find((known) => known === word) ?? 'system';
}

export function watchTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    localStorage.setItem(place, theme.value);
    colorChanges.value = colorChanges.peek() + 1;
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    colorChanges.value += 1;
  });
}
