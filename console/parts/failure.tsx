/** Shows an error message and suggests what to do next. */
import type { Failure } from '../api.ts';
import { counted } from '../format.ts';
import type { Loaded } from '../loaded.ts';
import { named } from '../text.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

export function FailureNote({ failure, onRetry }: { failure: Failure; onRetry?: () => void }) {
  const { message, retryAfterSeconds } = failure;
  const isCounted = retryAfterSeconds !== undefined && !Number.isNaN(retryAfterSeconds);
  const advice = `Try again in ${counted(retryAfterSeconds ?? 0, 'second')}.`;
  return (
    <div class="message bad" role="alert">
      <Icon name="warning" />
      <p>{named(isCounted ? message.replace(/Retry after the number [^.]*\./, advice) : message)}</p>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

/**
 * Shows why loading failed, except for a lost connection or an expired session, which are reported elsewhere.
 */
export function LoadFailure({ loaded }: { loaded: Loaded<unknown> }) {
  const { failure, reload } = loaded;
  if (failure === undefined || failure.code === 'connection_lost' || failure.code === 'sign_in_required')
    return null;
  return <FailureNote failure={failure} onRetry={reload} />;
}
