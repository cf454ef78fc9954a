import { Compass } from "lucide-react";
import { Link } from "react-router";
import { Notice } from "../ui/Notice";

export function NotFoundPage() {
  return (
    <Notice icon={<Compass />} title="There is nothing at this address.">
      <Link to="/">Go to your profile</Link>
    </Notice>
  );
}
