# The direction of the sum of the vectors in a reply of the cluster: those of words, or those of papers in a field.
local $/;
my ($reply, $field) = (decode_json(<STDIN>), @ARGV);
die encode_json($reply->{error}), "\n" if $reply->{error};
my @vectors = map { $_->{_source}{vector} } @{$reply->{docs} // []};
push @vectors, map { direction(map { ref ? @$_ : $_ } @{$_->{fields}{$field} // []}) } @{$reply->{hits}{hits} // []};
my @sum;
for my $vector (@vectors) { $sum[$_] += $vector->[$_] for 0 .. $#$vector }
print encode_json(direction(@sum));

sub direction {
  my $squares = 0;
  $squares += $_ * $_ for @_;
  die "Nothing gives these words a vector.\n" unless $squares;
  return [map { $_ / sqrt $squares } @_];
}
