/** Current problems and notes for the operator. */
import { call } from '../api.ts';
import { isConnected } from '../connection.ts';
import type { Overview } from '../contract.ts';
import { formatRate, localizeTimes, pluralize } from '../format.ts';
import { outcomes, sumCounts, totalRequests } from '../outcomes.ts';
import { quoteName } from '../text.ts';
import { type Loaded, useLoaded } from '../use-loaded.ts';
import { Icon } from './icon.tsx';

/** Information that requires no action. */
export interface Note {
  readonly text: string;
  readonly link?: { readonly href: string; readonly text: string };
}

interface StandingProps {
  readonly loaded: Loaded<Overview>;
  /** Additional notes from the page. */
  readonly more?: readonly Note[] | undefined;
}

/** A note is shown if at least this fraction of the last five minutes' requests had the outcome. */
const notedShares = { refused: 0.1, limited: 0.05 } as const;

export function useOverview(everyMs: number): Loaded<Overview> {
  return useLoaded('overview', () => call('GET /overview'), { everyMs });
}

/**
 * Shows current problems and notes. Shows nothing while the service is unreachable, because earlier data may
 * be outdated.
 */
export function ServiceStatus({ loaded: { data, failure }, more = [] }: StandingProps) {
  if (data === undefined || failure !== undefined || !isConnected.value) return null;
  const { concerns } = data;
  const notes = [...notesOf(data), ...more];
  return (
    <>
      {concerns.length > 0 && (
        <ul class="concerns" aria-label="Current problems">
          {concerns.map(({ what, remedy }) => (
            <li key={what} class="message bad">
              <Icon name="warning" />
              <div>
                <strong>{quoteName(localizeTimes(what))}</strong>
                <p>{localizeTimes(remedy)}</p>
              </div>
            </li>
          ))}
        </ul>
      )}
      {notes.length > 0 && (
        <ul class="concerns" aria-label="Notes">
          {notes.map(({ text, link }) => (
            <li key={text} class="message note">
              <Icon name="info" />
              <p>
                {quoteName(text)} {link && <a href={link.href}>{link.text}</a>}
              </p>
            </li>
          ))}
        </ul>
      )}
      {concerns.length + notes.length === 0 && (
        <p class="message good">
          <Icon name="check" />
          <span>
            <strong>Everything is working.</strong> No action is needed.
          </span>
        </p>
      )}
    </>
  );
}

function notesOf({ bans, seconds }: Overview): Note[] {
  const total = sumCounts(seconds);
  const notes: Note[] = [];
  if (bans > 0) {
    const text = `${pluralize(bans, 'key is', 'keys are')} banned.`;
    notes.push({ text, link: { href: '#/bans', text: 'Show bans' } });
  }
  for (const name of ['limited', 'refused'] as const) {
    const part = total[name] / Math.max(totalRequests(total), 1);
    if (part < notedShares[name]) continue;
    const label = outcomes.find((outcome) => outcome.name === name)?.text ?? name;
    const text = `${label}: ${formatRate(part * 100)}% of requests in the last 5 minutes.`;
    notes.push({ text, link: { href: '#/usage?span=hour', text: 'Show usage' } });
  }
  return notes;
}
