/** Shows a new key, with an example request that uses it. */
import { call } from '../api.ts';
import { useLoaded } from '../use-loaded.ts';
import { Secret } from './secret.tsx';

interface KeySecretProps {
  readonly title: string;
  readonly secret: string;
  readonly onClose: () => void;
}

export function KeySecret({ title, secret, onClose }: KeySecretProps) {
  const { data } = useLoaded('system', () => call('GET /system'));
  return (
    <Secret title={title} what="key" secret={secret} onClose={onClose}>
      {data && (
        <div class="try-key">
          <p>Try it with this request, which needs no scope and uses no quota:</p>
          <pre>{`curl -H 'Authorization: Bearer ${secret}' ${data.apiUrl}/v1/rate-limit`}</pre>
        </div>
      )}
    </Secret>
  );
}
