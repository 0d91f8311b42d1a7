/** Log settings that can be changed while the service is running. */
import { useState } from 'preact/hooks';
import type { Failure } from '../api.ts';
import { call } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { FailureNote, LoadState } from '../parts/failure.tsx';
import { Icon } from '../parts/icon.tsx';
import { Card } from '../parts/layout.tsx';
import { notify } from '../parts/notices.tsx';
import { canChange, viewerNotice } from '../session-state.ts';
import { toFailure, useLoaded } from '../use-loaded.ts';

type Logging = ResponseOf<'GET /system/logging'>;

const levelWords: Readonly<Record<Logging['level'], string>> = {
  silent: 'nothing',
  fatal: 'fatal errors only',
  error: 'errors',
  warn: 'errors and warnings',
  info: 'normal operation (default)',
  debug: 'debugging details',
  trace: 'everything',
};

const requestWords: Readonly<Record<Logging['requests'], string>> = {
  off: 'none (default)',
  slow: 'slow requests (LOG_SLOW_MS)',
  errors: 'failed requests (4xx, 5xx)',
  all: 'all requests',
};

export function LoggingCard() {
  const loaded = useLoaded('logging', () => call('GET /system/logging'));
  const [failure, setFailure] = useState<Failure>();
  const change = async (body: Partial<Logging>) => {
    setFailure(undefined);
    try {
      await call('PATCH /system/logging', { body });
      notify('Changed the log settings. They apply until this instance restarts.');
    } catch (error) {
      setFailure(toFailure(error));
    }
    loaded.reload();
  };
  return (
    <Card title="Log" about="Log settings of this instance. Changes last until the instance restarts.">
      <LoadState loaded={loaded} lines={2} />
      {failure && <FailureNote failure={failure} />}
      {loaded.data && (
        <div class="pair">
          <Words
            label="Messages"
            words={levelWords}
            value={loaded.data.level}
            onChange={(level) => change({ level })}
          />
          <Words
            label="Requests"
            words={requestWords}
            value={loaded.data.requests}
            onChange={(requests) => change({ requests })}
          />
        </div>
      )}
      {loaded.data && isHidden(loaded.data) && (
        <p class="message note">
          <Icon name="info" />
          <span>Requests are logged at level info, so level {loaded.data.level} hides them.</span>
        </p>
      )}
      {!canChange.value && <p class="hint">{viewerNotice}</p>}
    </Card>
  );
}

/** Whether the log level suppresses requests that are configured to be logged. */
function isHidden({ level, requests }: Logging): boolean {
  return requests !== 'off' && ['silent', 'fatal', 'error', 'warn'].includes(level);
}

interface WordsProps<Value extends string> {
  readonly label: string;
  readonly words: Readonly<Record<Value, string>>;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

function Words<Value extends string>({ label, words, value, onChange }: WordsProps<Value>) {
  return (
    <label class="field">
      <span>{label}</span>
      <select
        value={value}
        disabled={!canChange.value}
        onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}
      >
        {Object.entries<string>(words).map(([word, text]) => (
          <option key={word} value={word}>
            {word} · {text}
          </option>
        ))}
      </select>
    </label>
  );
}
