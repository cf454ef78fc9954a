interface AvatarProps {
  src: string;
  size?: "small" | "medium" | "large";
}

/** A picture beside a name, so screen readers skip it. */
export function Avatar({ src, size = "medium" }: AvatarProps) {
  return <img className={`avatar avatar-${size}`} src={src} alt="" loading="lazy" />;
}
