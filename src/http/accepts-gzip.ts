/** Whether a client takes answers compressed with gzip (RFC 9110, section 12.5.3). */
export function acceptsGzip({ headers }: Request): boolean {
  const weights = new Map<string, number>();
  for (const item of (headers.get('accept-encoding') ?? '').toLowerCase().split(',')) {
    const [coding = '', weight = 'q=1'] = item.split(';').map((part) => part.trim());
    weights.set(coding, Number(weight.slice('q='.length)));
  }
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}
