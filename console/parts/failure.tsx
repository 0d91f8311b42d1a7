/** Shows an error message and suggests what to do next. */
import type { Failure } from '../api.ts';
import { isConnected } from '../connection.ts';
import { pluralize } from '../format.ts';
import { quoteName } from '../text.ts';
import type { Loaded } from '../use-loaded.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { EmptyMessage, LoadingPlaceholder } from './layout.tsx';

export function FailureNote({ failure, onRetry }: { failure: Failure; onRetry?: (() => void) | undefined }) {
  const { message, retryAfterSeconds } = failure;
  const isCounted = retryAfterSeconds !== undefined && !Number.isNaN(retryAfterSeconds);
  const advice = `Try again in ${pluralize(retryAfterSeconds ?? 0, 'second')}.`;
  return (
    <div class="message bad" role="alert">
      <Icon name="warning" />
      <p>{quoteName(isCounted ? message.replace(/Retry after the number [^.]*\./, advice) : message)}</p>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

interface LoadStateProps {
  readonly loaded: Pick<Loaded<unknown>, 'data' | 'failure'> & Partial<Pick<Loaded<unknown>, 'reload'>>;
  /** Number of lines of the placeholder. */
  readonly lines?: number | undefined;
}

/**
 * Shows why loading failed, or a placeholder until there is data. The connection bar and the sign-in dialog report a
 * lost connection and an expired session.
 */
export function LoadState({ loaded: { data, failure, reload }, lines }: LoadStateProps) {
  const isReported = failure?.code === 'connection_lost' || failure?.code === 'sign_in_required';
  if (failure !== undefined && !isReported) return <FailureNote failure={failure} onRetry={reload} />;
  if (data !== undefined) return null;
  if (isConnected.value) return <LoadingPlaceholder lines={lines} />;
  return <EmptyMessage>Not loaded yet. The data appears when the service is back.</EmptyMessage>;
}
