/** What is written to the log, which can be changed while the service runs. */
import { useState } from 'preact/hooks';
import type { Failure } from '../api.ts';
import { call } from '../api.ts';
import type { AnswerOf } from '../contract.ts';
import { asFailure, useLoaded } from '../loaded.ts';
import { FailureNote, LoadFailure } from '../parts/failure.tsx';
import { Card, Waiting } from '../parts/layout.tsx';
import { notify } from '../parts/notices.tsx';
import { mayChange, viewersReason } from '../session-state.ts';

type Logging = AnswerOf<'GET /system/logging'>;

const levelWords: Readonly<Record<Logging['level'], string>> = {
  fatal: 'Only what ends the service',
  error: 'Errors',
  warn: 'Errors and warnings',
  info: 'Also what happens (usual)',
  debug: 'Also details',
  trace: 'Everything',
  silent: 'Nothing at all',
};

const requestWords: Readonly<Record<Logging['requests'], string>> = {
  off: 'None (usual)',
  slow: 'Slow ones',
  errors: 'Those that failed',
  all: 'All',
};

export function LoggingCard() {
  const loaded = useLoaded('logging', () => call('GET /system/logging'));
  const [failure, setFailure] = useState<Failure>();
  const change = async (body: Partial<Logging>) => {
    setFailure(undefined);
    try {
      await call('PATCH /system/logging', { body });
      notify('The log is written this way from now on, until the service is started again.');
    } catch (error) {
      setFailure(asFailure(error));
    }
    loaded.reload();
  };
  return (
    <Card title="Log" about="What this instance writes, until it is started again">
      <LoadFailure loaded={loaded} />
      {failure && <FailureNote failure={failure} />}
      {loaded.data === undefined ? (
        <Waiting lines={2} />
      ) : (
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
      {!mayChange.value && <p class="hint">{viewersReason}</p>}
    </Card>
  );
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
        disabled={!mayChange.value}
        onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}
      >
        {Object.entries<string>(words).map(([word, text]) => (
          <option key={word} value={word}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
