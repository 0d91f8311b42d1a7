/** What went wrong, and what to do. */
import type { Failure } from '../api.ts';
import type { Loaded } from '../loaded.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

export function FailureNote({ failure, onRetry }: { failure: Failure; onRetry?: () => void }) {
  const { message, mistakes, retryAfterSeconds } = failure;
  const isCounted = retryAfterSeconds !== undefined && !Number.isNaN(retryAfterSeconds);
  return (
    <div class="message bad" role="alert">
      <Icon name="warning" />
      <div>
        <p>
          {isCounted
            ? message.replace(/Retry after the number .*/, `Try again in ${retryAfterSeconds} s.`)
            : message}
        </p>
        {mistakes.length > 0 && (
          <ul>
            {mistakes.map(({ name, message: what }) => (
              <li key={name + what}>
                {name !== '' && <code>{name}</code>} {what}
              </li>
            ))}
          </ul>
        )}
      </div>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

/** The failure of something that was to be read. A lost connection has a bar of its own. */
export function LoadFailure({ loaded }: { loaded: Loaded<unknown> }) {
  const { failure, reload } = loaded;
  if (failure === undefined || failure.code === 'connection_lost' || failure.code === 'sign_in_required')
    return null;
  return <FailureNote failure={failure} onRetry={reload} />;
}
