/** Where the operator is reached: an e-mail address or a page. */
export function Contact({ address }: { readonly address: string }) {
  const isPage = address.startsWith("https://");
  return (
    <a href={isPage ? address : `mailto:${address}`} rel="noreferrer">
      {isPage ? address.slice("https://".length) : address}
    </a>
  );
}
